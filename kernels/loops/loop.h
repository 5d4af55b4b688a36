// loops/loop.h: the types that operators and the builds of their loops share.
//
// A loop is written for one line: operand i begins at data[i], the written one first, and its next
// element lies steps[i] bytes further.
//
// Depends on: opyard/tensor/dtype.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "opyard/tensor/dtype.h"

// In front of a plain loop: what one step writes, no other step reads (write.h), so the compiler
// may turn it into vector instructions without asking whether operands overlap.
#ifdef __clang__
#define OPYARD_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define OPYARD_IVDEP _Pragma("GCC ivdep")
#endif

namespace opyard::kernels {

// `context` is what the kernel handed to its walk: its numbers, or nothing.
using Loop = void (*)(std::byte* const* data, const std::int64_t* steps, std::int64_t count,
                      const void* context);

// A scalar as the C++ type of a computed dtype, in eight bytes.
struct Number {
  alignas(8) std::byte bytes[8] = {};

  template <typename T>
  T as() const {
    T value;
    __builtin_memcpy(&value, bytes, sizeof(T));
    return value;
  }
  template <typename T>
  static Number of(T value) {
    static_assert(sizeof(T) <= 8);
    Number number;
    __builtin_memcpy(number.bytes, &value, sizeof(T));
    return number;
  }
};

inline constexpr int kComputedCount = 4;
inline constexpr std::array<DType, kComputedCount> kComputed = {DType::Bool, DType::Int64,
                                                                DType::Float32, DType::Float64};

// The position in kComputed, which is also the order of promotion; -1 for other dtypes.
constexpr int computed_index(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return 0;
    case DType::Int64:
      return 1;
    case DType::Float32:
      return 2;
    case DType::Float64:
      return 3;
    default:
      return -1;
  }
}

// One loop for each computed dtype; null if the operator has no meaning in it.
struct Loops {
  std::array<Loop, kComputedCount> of{};
};

}  // namespace opyard::kernels
