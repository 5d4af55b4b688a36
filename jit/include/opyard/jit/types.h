// opyard/jit/types.h: the types of values in a graph: the schema's, a tensor of known shape, a pullback.
//
//   Float(2, *, strides=[3, 1], requires_grad=0, device=cpu)     a ShapedTensor
//   Pullback                                                     what a later stage runs backward
//
// A ShapedTensor is a Tensor to everything that asks for the kind or compares with equal(): what is
// known of its elements and sizes is for people, passes and the check of a graph's inputs.
//
// Depends on: schema/type.h, tensor/dtype.h, tensor/device.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "opyard/schema/type.h"
#include "opyard/tensor/device.h"
#include "opyard/tensor/dtype.h"

namespace opyard::jit {

inline constexpr std::int64_t kUnknownSize = -1;  // printed as *

struct TensorShape {
  std::optional<DType> dtype;
  // Of each dimension, or kUnknownSize. Nothing: the number of dimensions is not known either.
  std::optional<std::vector<std::int64_t>> sizes;
  std::optional<std::vector<std::int64_t>> strides;
  std::optional<bool> requires_grad;
  std::optional<Device> device;

  bool operator==(const TensorShape&) const = default;
};

// The type of tensors of which dtype or sizes are known.
class OPYARD_API ShapedTensor final : public Type {
 public:
  explicit ShapedTensor(TensorShape shape);
  ~ShapedTensor() override;
  const TensorShape& shape() const noexcept { return shape_; }

 private:
  const TensorShape shape_;
};

// Raises BadValue if sizes are negative, or strides have another number of dimensions.
OPYARD_API TypePtr shaped_tensor(TensorShape shape);
// The shape that this type knows, or null.
OPYARD_API const TensorShape* find_shape(const Type& type);
// What is known of one tensor.
OPYARD_API TypePtr type_of_tensor(const Tensor& tensor);

// Its values are objects of this class, which the layer above that makes them registers.
inline constexpr const char* kPullbackClass = "opyard.Pullback";
OPYARD_API TypePtr pullback_type();
OPYARD_API bool is_pullback(const Type& type);

// As a graph's text says it: "Float(2, 3)", "Tensor[]", "(int, Float(2))", "int?".
OPYARD_API std::string type_text(const Type& type);
// "Float" for float32; the names by which a graph's text knows element types, both ways.
OPYARD_API const char* element_name(DType dtype) noexcept;
OPYARD_API std::optional<DType> find_element_name(std::string_view name) noexcept;

// Equal by structure, shapes included.
OPYARD_API bool same_type(const Type& a, const Type& b);
// Whether every value of `narrow` is one of `wide`: the schema's rule, and a shape that says more
// is narrower than one that says less.
OPYARD_API bool fits_type(const Type& narrow, const Type& wide);
// The narrowest type that both are subtypes of, or null: two shapes keep what they agree in, None
// and T give T?, and int and float give nothing, as in TorchScript.
OPYARD_API TypePtr unify(const TypePtr& a, const TypePtr& b);

}  // namespace opyard::jit
