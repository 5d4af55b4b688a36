// opyard/tensor/half.h: float16 and bfloat16: conversions, and the types that kernels compute in.
//
//   Half       sign, 5 bits of exponent (bias 15), 10 bits of fraction
//   BFloat16   the upper half of a float32
//
// Tensors store them; arithmetic is in float. Each converts to float by itself, which is exact, and
// from numbers explicitly: rounded to the nearest, ties to even. What is too large becomes
// infinite, and a NaN stays one. A loop for all floating dtypes computes in accumulate_t<T> and
// rounds once:
//
//   accumulate_t<T> sum = 0;                               float for Half and BFloat16, else T
//   for (std::int64_t i = 0; i < size; ++i) sum += x[i] * y[i];
//   result = T(sum);
//
// Conversions from and to float have no branches, so compilers vectorise loops of them.
//
// Depends on: nothing else of ours.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace opyard {

namespace detail {

// The exponent is moved by a product with a power of two, which normalises what is subnormal.
constexpr float float_of_half(std::uint16_t bits) noexcept {
  const std::uint32_t size = std::uint32_t{bits} & 0x7fff;
  const float scaled = std::bit_cast<float>(size << 13) * 0x1p112F;
  const std::uint32_t special = size >= 0x7c00 ? 0x7f800000 : 0;
  const std::uint32_t sign = (std::uint32_t{bits} & 0x8000) << 16;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | special | sign);
}

// A sum with a float whose last bit is the result's last one rounds at that bit: for a normal
// result by integers, for a subnormal one by the float 0.5.
constexpr std::uint16_t half_of_float(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t size = bits & 0x7fffffff;
  const std::uint32_t normal = (size - 0x38000000 + 0xfff + ((size >> 13) & 1)) >> 13;
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5F) - 0x3f000000;
  std::uint32_t result = size < 0x38800000 ? subnormal : normal;
  result = size >= 0x477ff000 ? 0x7c00 : result;
  result = size > 0x7f800000 ? 0x7e00 : result;
  return std::uint16_t(result | ((bits >> 16) & 0x8000));
}

constexpr float float_of_bfloat16(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

constexpr std::uint16_t bfloat16_of_float(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const std::uint32_t nan = (bits >> 16) | 0x40;
  const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
  return std::uint16_t(is_nan ? nan : rounded);
}

// Rounds to odd: of the floats next to a number that is none, the one with an odd last bit. A
// second rounding, to fewer bits, then gives what one rounding of the number gives.
constexpr float odd_float(double value) noexcept {
  const auto nearest = float(value);
  const double back = nearest;
  if (back == value || value != value) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if ((bits & 0x7fffffff) == 0x7f800000) return nearest;
  if ((back > value) == (value > 0)) --bits;
  return std::bit_cast<float>(bits | 1);
}

}  // namespace detail

struct Half {
  std::uint16_t bits;

  Half() = default;
  explicit constexpr Half(float value) noexcept : bits(detail::half_of_float(value)) {}
  // An integer above 2^53 is rounded to a double first.
  template <typename N>
    requires std::is_arithmetic_v<N>
  explicit constexpr Half(N value) noexcept : Half(detail::odd_float(double(value))) {}

  static constexpr Half from_bits(std::uint16_t bits) noexcept {
    Half half(0.0F);
    half.bits = bits;
    return half;
  }
  constexpr operator float() const noexcept {  // NOLINT(google-explicit-constructor)
    return detail::float_of_half(bits);
  }
};

struct BFloat16 {
  std::uint16_t bits;

  BFloat16() = default;
  explicit constexpr BFloat16(float value) noexcept : bits(detail::bfloat16_of_float(value)) {}
  // An integer above 2^53 is rounded to a double first.
  template <typename N>
    requires std::is_arithmetic_v<N>
  explicit constexpr BFloat16(N value) noexcept : BFloat16(detail::odd_float(double(value))) {}

  static constexpr BFloat16 from_bits(std::uint16_t bits) noexcept {
    BFloat16 half(0.0F);
    half.bits = bits;
    return half;
  }
  constexpr operator float() const noexcept {  // NOLINT(google-explicit-constructor)
    return detail::float_of_bfloat16(bits);
  }
};

// Elements that are stored in 16 bits and computed in float.
template <typename T>
inline constexpr bool is_half_type = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// What to compute and to sum elements of T in: float for Half and BFloat16, else T itself.
template <typename T>
using accumulate_t = std::conditional_t<is_half_type<T>, float, T>;

namespace detail {

template <typename T, int kDigits, int kMaxExponent>
struct HalfLimits : std::numeric_limits<float> {
  static constexpr int digits = kDigits;
  static constexpr int digits10 = (kDigits - 1) * 301 / 1000;
  static constexpr int max_digits10 = 2 + kDigits * 301 / 1000;
  static constexpr int max_exponent = kMaxExponent;
  static constexpr int max_exponent10 = kMaxExponent * 301 / 1000;
  static constexpr int min_exponent = 3 - kMaxExponent;
  static constexpr int min_exponent10 = (min_exponent - 1) * 301 / 1000;

  static constexpr T infinity() noexcept { return T(std::numeric_limits<float>::infinity()); }
  static constexpr T quiet_NaN() noexcept { return T(std::numeric_limits<float>::quiet_NaN()); }
  static constexpr T signaling_NaN() noexcept { return of(infinity().bits | 1); }
  static constexpr T max() noexcept { return of(infinity().bits - 1); }
  static constexpr T lowest() noexcept { return of(max().bits | 0x8000); }
  static constexpr T min() noexcept { return of(1 << (kDigits - 1)); }
  static constexpr T denorm_min() noexcept { return of(1); }
  static constexpr T epsilon() noexcept { return T(1.0F / float(1 << (kDigits - 1))); }
  static constexpr T round_error() noexcept { return T(0.5F); }

 private:
  static constexpr T of(int bits) noexcept { return T::from_bits(std::uint16_t(bits)); }
};

}  // namespace detail
}  // namespace opyard

// Without these they would be zero, silently.
template <>
struct std::numeric_limits<opyard::Half> : opyard::detail::HalfLimits<opyard::Half, 11, 16> {};
template <>
struct std::numeric_limits<opyard::BFloat16>
    : opyard::detail::HalfLimits<opyard::BFloat16, 8, 128> {};
