// kernels/common/dtypes.h: the dtypes that are computed in, and how they promote.
//
// [Promotion] The inputs of an operator meet in one dtype. Inputs have three ranks:
// tensors with dimensions, tensors without, and plain numbers; within a rank the later of
// bool, int64, float32, float64 wins. A lower rank counts only where its category (bool,
// integer, float) is higher. So float32[3] + float64[] stays float32, int64[3] + 1.5 becomes
// float32 (the default float dtype, for plain numbers), and int64[3] + float64[] float64.
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

// 0 for bool, 1 for integers, 2 for floats.
constexpr int category_of(DType dtype) {
  if (dtype == DType::Bool) return 0;
  return is_integral(dtype) ? 1 : 2;
}

// Of two computed dtypes.
constexpr DType promote(DType a, DType b) { return computed_index(a) < computed_index(b) ? b : a; }

// The dtype an operator computes in whose results are floats: int64 and bool become float32.
constexpr DType float_for(DType dtype) { return is_floating_point(dtype) ? dtype : kDefaultFloat; }

// Whether an in-place operator may store a result of dtype `from` in a tensor of dtype `to`.
constexpr bool can_store(DType from, DType to) { return category_of(from) <= category_of(to); }

// The dtype of a plain number that is real: bool, int64, or the default float.
inline DType dtype_for(const Scalar& number) {
  if (number.is_bool()) return DType::Bool;
  return number.is_integral() ? DType::Int64 : kDefaultFloat;
}

// See [Promotion]. Takes computed dtypes.
class Promotion {
 public:
  void add(const Tensor& tensor) { join(tensor.dim() > 0 ? 0 : 1, tensor.dtype()); }
  void add(const Scalar& number) { join(2, dtype_for(number)); }

  DType result() const {
    std::optional<DType> dtype;
    for (const std::optional<DType>& rank : ranks_) {
      if (rank && (!dtype || category_of(*rank) > category_of(*dtype))) dtype = rank;
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

// Calls body(T()) with the C++ type of a computed dtype.
template <typename Body>
decltype(auto) visit_computed(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::Bool:
      return body(bool());
    case DType::Int64:
      return body(std::int64_t());
    case DType::Float32:
      return body(float());
    default:
      return body(double());
  }
}

}  // namespace opyard::kernels
