// opyard/value/sym_tensor.h: sizes and strides of tensors, which may be symbolic.
//
// They are plain words of the tensor itself where it has no policies, and are not copied then. The
// spans live as long as the tensor, or until its class answers the same question anew.
//
// Depends on: tensor/tensor.h, value/sym.h.
#pragma once

#include <vector>

#include "opyard/tensor/tensor.h"
#include "opyard/value/sym.h"

namespace opyard {

OPYARD_API SymIntSpan sym_sizes(const Tensor& tensor);
OPYARD_API SymIntSpan sym_strides(const Tensor& tensor);
OPYARD_API SymInt sym_numel(const Tensor& tensor);
OPYARD_API SymInt sym_storage_offset(const Tensor& tensor);

// What is kept beside a tensor: TensorImpl::kept_geometry(). Guarded as that says.
class OPYARD_API KeptGeometry final : public Counted {
 public:
  // Of this tensor; made where there is none.
  static KeptGeometry& of(const TensorImpl& tensor);

  // Symbolic ones that the tensor was made with; none where it has no policy kSymbolic.
  std::vector<SymInt> own_sizes;
  std::vector<SymInt> own_strides;
  SymInt own_storage_offset;

  // What a class answered last. A span that was given out stays good, and sees the newest answer,
  // until the number of dimensions changes past what was there before.
  DimVector sizes;
  DimVector strides;
  std::vector<SymInt> sym_sizes;
  std::vector<SymInt> sym_strides;

 private:
  ~KeptGeometry() override;
};

// Gives a tensor symbolic sizes and strides, as many of each as it has dimensions; they are what it
// was made with from now on. Only while no other thread can see it. Raises BadShape for other numbers.
OPYARD_API void make_symbolic(const Tensor& tensor, std::vector<SymInt> sizes,
                              std::vector<SymInt> strides, SymInt storage_offset);

// The same whatever the class says.
OPYARD_API SymIntSpan own_sym_sizes(const TensorImpl& tensor);
OPYARD_API SymIntSpan own_sym_strides(const TensorImpl& tensor);
OPYARD_API SymInt own_sym_numel(const TensorImpl& tensor);
OPYARD_API SymInt own_sym_storage_offset(const TensorImpl& tensor);

}  // namespace opyard
