// kernels/common/dtypes.h: type promotion.
//
// [Promotion] The inputs of an operator meet in one dtype. Inputs have three ranks: tensors with
// dimensions, tensors without, and plain numbers; those of a rank meet in the smallest dtype that
// holds both (promote()). A lower rank counts only if its category (bool, integer, float, complex)
// is higher, and then only for the category: float32[3] + float64[] stays float32, float32[3] +
// complex128[] becomes complex64. int64[3] + 1.5 becomes float32 (the default float dtype, for
// plain numbers), and int64[3] + float64[] float64.
//
// Depends on: opyard/tensor.h, opyard/value/scalar.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "loops/loop.h"
#include "opyard/tensor.h"
#include "opyard/value/scalar.h"

namespace opyard::kernels {

inline constexpr DType kDefaultFloat = DType::Float32;

// 0 for bool, 1 for integers, 2 for floats, 3 for complex numbers.
constexpr int category_of(DType dtype) {
  if (dtype == DType::Bool) return 0;
  if (is_integral(dtype)) return 1;
  return is_complex(dtype) ? 3 : 2;
}

// The complex dtype whose parts hold a float, and the dtype of a complex number's parts.
constexpr DType complex_for(DType dtype) {
  const bool wide = dtype == DType::Float64 || dtype == DType::ComplexDouble;
  return wide ? DType::ComplexDouble : DType::ComplexFloat;
}
constexpr DType real_for(DType dtype) {
  if (dtype == DType::ComplexFloat) return DType::Float32;
  return dtype == DType::ComplexDouble ? DType::Float64 : dtype;
}

// Raises BadArgument: uint64 and integers with a sign meet in no integer dtype.
[[noreturn]] void refuse_promotion(DType a, DType b);

// In which two integer dtypes meet: one with a sign that is not wider than one without meets it in
// the next wider one with a sign, uint8 and int8 in int16.
constexpr DType promote_integers(DType a, DType b) {
  if (is_unsigned(a) == is_unsigned(b)) return item_size(a) < item_size(b) ? b : a;
  const DType without = is_unsigned(a) ? a : b, with = is_unsigned(a) ? b : a;
  if (item_size(without) < item_size(with)) return with;
  switch (item_size(without)) {
    case 1:
      return DType::Int16;
    case 2:
      return DType::Int32;
    case 4:
      return DType::Int64;
    default:
      refuse_promotion(a, b);
  }
}

// In which two dtypes meet; float16 and bfloat16 in float32. Raises as refuse_promotion() does.
constexpr DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_complex(a) || is_complex(b)) {
    const bool wide =
        complex_for(a) == DType::ComplexDouble || complex_for(b) == DType::ComplexDouble;
    return wide ? DType::ComplexDouble : DType::ComplexFloat;
  }
  if (category_of(a) != category_of(b)) return category_of(a) < category_of(b) ? b : a;
  if (is_floating_point(a)) {
    return a == DType::Float64 || b == DType::Float64 ? DType::Float64 : DType::Float32;
  }
  return promote_integers(a, b);
}

// The dtype an operator computes in whose results are floats: integers and bool become float32.
constexpr DType float_for(DType dtype) { return category_of(dtype) < 2 ? kDefaultFloat : dtype; }

// Whether an in-place operator may store a result of dtype `from` in a tensor of dtype `to`.
constexpr bool can_store(DType from, DType to) { return category_of(from) <= category_of(to); }

// The dtype of a plain number: bool, int64, the default float, or complex of it.
inline DType dtype_for(const Scalar& number) {
  if (number.is_bool()) return DType::Bool;
  if (number.is_complex()) return complex_for(kDefaultFloat);
  return number.is_integral() ? DType::Int64 : kDefaultFloat;
}

// See [Promotion].
class Promotion {
 public:
  void add(const Tensor& tensor) { join(tensor.dim() > 0 ? 0 : 1, tensor.dtype()); }
  void add(const Scalar& number) { join(2, dtype_for(number)); }

  DType result() const {
    std::optional<DType> dtype;
    for (const std::optional<DType>& rank : ranks_) {
      if (!rank) continue;
      if (!dtype) {
        dtype = rank;
      } else if (category_of(*rank) > category_of(*dtype)) {
        dtype = is_floating_point(*dtype) ? complex_for(*dtype) : promote(*dtype, *rank);
      }
    }
    return dtype.value_or(kDefaultFloat);
  }

 private:
  void join(int rank, DType dtype) {
    std::optional<DType>& held = ranks_[std::size_t(rank)];
    held = held ? promote(*held, dtype) : dtype;
  }
  std::array<std::optional<DType>, 3> ranks_;
};

// Calls body(T()) with the C++ type of bool, int64, float32 or float64: what require_computed()
// lets pass.
template <typename Body>
decltype(auto) visit_computed(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::Bool:
      return body(bool());
    case DType::Int64:
      return body(std::int64_t());
    case DType::Float32:
      return body(float());
    case DType::Float64:
    // which require_computed() refuses:
    case DType::UInt8:
    case DType::Int8:
    case DType::Int16:
    case DType::Int32:
    case DType::Half:
    case DType::BFloat16:
    case DType::ComplexFloat:
    case DType::ComplexDouble:
    case DType::UInt16:
    case DType::UInt32:
    case DType::UInt64:
      break;
  }
  return body(double());
}

}  // namespace opyard::kernels
