// opyard/value/sym_tensor.h: symbolic sizes and strides of tensors.
//
// They are plain words of the tensor itself if it has no policies, and are not copied then. The
// spans live as long as the tensor, or until its class answers the same question anew.
//
// Depends on: tensor/tensor.h, value/sym.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "opyard/tensor/tensor.h"
#include "opyard/value/sym.h"

namespace opyard {

// As plain numbers if they are known. Raises BadValue for the undefined tensor.
OPYARD_API SymIntSpan sym_sizes(const Tensor& tensor);
OPYARD_API SymIntSpan sym_strides(const Tensor& tensor);
OPYARD_API SymInt sym_numel(const Tensor& tensor);
OPYARD_API SymInt sym_storage_offset(const Tensor& tensor);

// Words of an answer, in memory that lives as long as this. A later answer is written over the one
// before, whose spans see it; one for which there is no room gets a block of its own, and the
// former block stays, since its spans may still be read.
template <typename T>
class CachedAnswer {
 public:
  std::span<const T> keep(std::vector<T> answer) {
    if (blocks_.empty() || blocks_.back().size() < answer.size()) {
      blocks_.emplace_back(std::max(answer.size(), kLeastRoom));
    }
    std::move(answer.begin(), answer.end(), blocks_.back().begin());
    return std::span<const T>(blocks_.back()).first(answer.size());
  }

 private:
  static constexpr std::size_t kLeastRoom = 5;

  std::vector<std::vector<T>> blocks_;
};

// A row-major tensor with sizes that may be symbolic, as a kernel at Meta makes its results. Raises
// BadShape for a number below 0 and sizes too large for 64 bits.
OPYARD_API Tensor empty_symbolic(std::vector<SymInt> sizes, DType dtype,
                                 Device device = Device{Backend::Meta});

// What is cached with a tensor: TensorImpl::cached_geometry(). Guarded as that says.
class OPYARD_API CachedGeometry final : public Counted {
 public:
  // Of this tensor; made if there is none.
  static CachedGeometry& of(const TensorImpl& tensor);

  // Symbolic ones that the tensor was made with; none if it has no policy kSymbolic.
  std::vector<SymInt> own_sizes;
  std::vector<SymInt> own_strides;
  SymInt own_storage_offset;

  // What a class answered last. A span that was given out stays good as long as the tensor.
  CachedAnswer<std::int64_t> sizes;
  CachedAnswer<std::int64_t> strides;
  CachedAnswer<SymInt> sym_sizes;
  CachedAnswer<SymInt> sym_strides;

 private:
  ~CachedGeometry() override;
};

// Gives a tensor symbolic sizes and strides, as many of each as it has dimensions; they are what it
// was made with from now on. Only while no other thread can see it. Raises BadShape for other
// numbers.
OPYARD_API void make_symbolic(const Tensor& tensor, std::vector<SymInt> sizes,
                              std::vector<SymInt> strides, SymInt storage_offset);

// The same whatever the class says.
OPYARD_API SymIntSpan own_sym_sizes(const TensorImpl& tensor);
OPYARD_API SymIntSpan own_sym_strides(const TensorImpl& tensor);
OPYARD_API SymInt own_sym_numel(const TensorImpl& tensor);
OPYARD_API SymInt own_sym_storage_offset(const TensorImpl& tensor);

}  // namespace opyard
