// loops/loop.h: the types that operators and the builds of their loops share.
//
// A loop is written for one line: operand i begins at data[i], the written one first, and its next
// element is steps[i] bytes further.
//
// [Carriers] Loops exist for six dtypes, the computed ones. Elements of another dtype are converted
// to its carrier, computed there and converted back: int64 carries the other integers, which wraps
// to the same bits as arithmetic of their own width, and float32 carries float16 and bfloat16.
//
// [Unsigned] Of uint64, int64 carries the bits: as good for sums, products and bits, and wrong for
// order and quotients. So a kernel says that it takes uint64 as bits, or in order: with the upper
// bit flipped, which gives int64 numbers in the same order. Others refuse it.
//
// Depends on: opyard/tensor/dtype.h.
#pragma once

#include <array>
#include <complex>
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

// In front of a short loop over registers, which has to have none of its own left.
#ifdef __clang__
#define OPYARD_UNROLL _Pragma("clang loop unroll(full)")
#else
#define OPYARD_UNROLL _Pragma("GCC unroll 16")
#endif

namespace opyard::kernels {

// `context` is what the kernel handed to its walk: its numbers, or nothing.
using Loop = void (*)(std::byte* const* data, const std::int64_t* steps, std::int64_t count,
                      const void* context);

// A scalar as the C++ type of a dtype.
struct Number {
  alignas(8) std::byte bytes[16] = {};

  template <typename T>
  T as() const {
    T value;
    __builtin_memcpy(&value, bytes, sizeof(T));
    return value;
  }
  template <typename T>
  static Number of(T value) {
    static_assert(sizeof(T) <= sizeof(bytes));
    Number number;
    __builtin_memcpy(number.bytes, &value, sizeof(T));
    return number;
  }
};

using Complex64 = std::complex<float>;
using Complex128 = std::complex<double>;

inline constexpr int kComputedCount = 6;
inline constexpr std::array<DType, kComputedCount> kComputed = {
    DType::Bool,    DType::Int64,        DType::Float32,
    DType::Float64, DType::ComplexFloat, DType::ComplexDouble};

// The position in kComputed; -1 for other dtypes.
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
    case DType::ComplexFloat:
      return 4;
    case DType::ComplexDouble:
      return 5;
    case DType::UInt8:
    case DType::Int8:
    case DType::Int16:
    case DType::Int32:
    case DType::Half:
    case DType::BFloat16:
    case DType::UInt16:
    case DType::UInt32:
    case DType::UInt64:
      return -1;
  }
  return -1;
}

// See [Carriers].
constexpr DType carrier_of(DType dtype) {
  if (is_integral(dtype)) return DType::Int64;
  return dtype == DType::Half || dtype == DType::BFloat16 ? DType::Float32 : dtype;
}

// One loop for each computed dtype; null if the operator has no meaning in it.
struct Loops {
  std::array<Loop, kComputedCount> of{};
};

}  // namespace opyard::kernels
