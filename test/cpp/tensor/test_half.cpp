// test_half.cpp: protects the conversions of float16 and bfloat16. Suspect tensor/half.h.
//
// The reference knows the formats alone: each value by its exponent and fraction, in double, and
// that neighbours have bits that follow each other.
#include "opyard/tensor/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "opyard/tensor/dtype.h"

namespace opyard::test_half {
namespace {

template <typename T>
struct Format;
template <>
struct Format<Half> {
  static constexpr int fraction_bits = 10, bias = 15;
  static constexpr std::uint16_t infinity = 0x7c00;
};
template <>
struct Format<BFloat16> {
  static constexpr int fraction_bits = 7, bias = 127;
  static constexpr std::uint16_t infinity = 0x7f80;
};

// The number of bits without a sign. Those of infinity count as the next power of two.
template <typename T>
double value_of(std::uint16_t bits) {
  using F = Format<T>;
  const int exponent = bits >> F::fraction_bits;
  const int fraction = bits & ((1 << F::fraction_bits) - 1);
  if (exponent == 0) return std::ldexp(fraction, 1 - F::bias - F::fraction_bits);
  return std::ldexp(fraction + (1 << F::fraction_bits), exponent - F::bias - F::fraction_bits);
}

template <typename T>
class Halves : public testing::Test {};
using Types = testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(Halves, Types);

TYPED_TEST(Halves, EveryOneIsAFloatExactly) {
  constexpr std::uint16_t kInfinity = Format<TypeParam>::infinity;
  for (int bits = 0; bits < 0x8000; ++bits) {
    const float positive = TypeParam::from_bits(std::uint16_t(bits));
    const float negative = TypeParam::from_bits(std::uint16_t(bits | 0x8000));
    ASSERT_TRUE(!std::signbit(positive) && std::signbit(negative)) << bits;
    if (bits > kInfinity) {
      ASSERT_TRUE(std::isnan(positive) && std::isnan(negative)) << bits;
      ASSERT_TRUE(std::isnan(float(TypeParam(positive)))) << bits;
      ASSERT_TRUE(std::isnan(float(TypeParam(double(negative))))) << bits;
      continue;
    }
    const double expected = bits == kInfinity ? std::numeric_limits<double>::infinity()
                                              : value_of<TypeParam>(std::uint16_t(bits));
    ASSERT_EQ(double{positive}, expected) << bits;
    ASSERT_EQ(double{negative}, -expected) << bits;
    ASSERT_EQ(TypeParam(positive).bits, bits);
    ASSERT_EQ(TypeParam(double{negative}).bits, bits | 0x8000);
  }
}

// Between each two neighbours, from zero and the smallest subnormal to the largest and infinity.
TYPED_TEST(Halves, NumbersAreRoundedToTheNearestTiesToEven) {
  for (int bits = 0; bits < Format<TypeParam>::infinity; ++bits) {
    const auto lower = std::uint16_t(bits), upper = std::uint16_t(bits + 1);
    const double middle = (value_of<TypeParam>(lower) + value_of<TypeParam>(upper)) / 2;
    const auto tied = float(middle);
    ASSERT_EQ(double{tied}, middle);
    const float below = std::nextafter(tied, 0.0F);
    const float above = std::nextafter(tied, std::numeric_limits<float>::infinity());
    const std::uint16_t even = bits % 2 == 0 ? lower : upper;
    ASSERT_EQ(TypeParam(below).bits, lower) << bits;
    ASSERT_EQ(TypeParam(tied).bits, even) << bits;
    ASSERT_EQ(TypeParam(above).bits, upper) << bits;
    ASSERT_EQ(TypeParam(-below).bits, lower | 0x8000) << bits;
    ASSERT_EQ(TypeParam(-tied).bits, even | 0x8000) << bits;
    ASSERT_EQ(TypeParam(-above).bits, upper | 0x8000) << bits;
    // A double may be so near to the middle that the float beside it is the middle.
    const double just_above = std::nextafter(middle, 1e300), just_below = std::nextafter(middle, 0);
    ASSERT_EQ(TypeParam(just_above).bits, upper) << bits;
    ASSERT_EQ(TypeParam(middle).bits, even) << bits;
    ASSERT_EQ(TypeParam(just_below).bits, lower) << bits;
    ASSERT_EQ(TypeParam(-just_above).bits, upper | 0x8000) << bits;
    ASSERT_EQ(TypeParam(-just_below).bits, lower | 0x8000) << bits;
  }
}

TYPED_TEST(Halves, WhatIsTooLargeIsInfinite) {
  constexpr std::uint16_t kInfinity = Format<TypeParam>::infinity;
  using Float = std::numeric_limits<float>;
  using Double = std::numeric_limits<double>;
  EXPECT_EQ(TypeParam(Float::max()).bits, kInfinity);
  EXPECT_EQ(TypeParam(Float::infinity()).bits, kInfinity);
  EXPECT_EQ(TypeParam(-Double::max()).bits, kInfinity | 0x8000);
  EXPECT_EQ(TypeParam(-Double::infinity()).bits, kInfinity | 0x8000);
  EXPECT_EQ(TypeParam(Double::min()).bits, 0);
  EXPECT_EQ(TypeParam(-Double::denorm_min()).bits, 0x8000);
  EXPECT_TRUE(std::isnan(TypeParam(Double::quiet_NaN())));
}

TYPED_TEST(Halves, OtherNumbersAreConvertedByTheirValue) {
  EXPECT_EQ(TypeParam(1).bits, TypeParam(1.0F).bits);
  EXPECT_EQ(TypeParam(true).bits, TypeParam(1.0).bits);
  EXPECT_EQ(float(TypeParam(std::int64_t{-3})), -3);
  EXPECT_EQ(float(TypeParam(std::uint8_t{200})), 200);
  EXPECT_EQ(TypeParam(INT64_MAX).bits, TypeParam(0x1p63).bits);
  EXPECT_EQ(float(TypeParam{}), 0);
}

// Without limits of their own, those of the standard library would be zeros.
TYPED_TEST(Halves, LimitsAreThoseOfTheFormat) {
  using Limits = std::numeric_limits<TypeParam>;
  using F = Format<TypeParam>;
  static_assert(Limits::is_specialized && Limits::is_signed && !Limits::is_integer);
  EXPECT_EQ(Limits::infinity().bits, F::infinity);
  EXPECT_EQ(Limits::max().bits, F::infinity - 1);
  EXPECT_EQ(float(Limits::lowest()), -float(Limits::max()));
  EXPECT_EQ(double{Limits::min()}, std::ldexp(1, Limits::min_exponent - 1));
  EXPECT_EQ(double{Limits::min()}, value_of<TypeParam>(1 << F::fraction_bits));
  EXPECT_EQ(double{Limits::max()},
            (1 - std::ldexp(1, -Limits::digits)) * std::ldexp(1, Limits::max_exponent));
  EXPECT_EQ(double{Limits::denorm_min()}, value_of<TypeParam>(1));
  EXPECT_EQ(float(Limits::epsilon()), float(TypeParam::from_bits(TypeParam(1).bits + 1)) - 1);
  EXPECT_EQ(float(Limits::round_error()), 0.5F);
  EXPECT_TRUE(std::isnan(Limits::quiet_NaN()) && std::isnan(Limits::signaling_NaN()));
  EXPECT_NE(Limits::quiet_NaN().bits, Limits::signaling_NaN().bits);
  EXPECT_EQ(Limits::digits, F::fraction_bits + 1);
  EXPECT_EQ(Limits::max_exponent10, int(std::floor(std::log10(double{Limits::max()}))));
  EXPECT_EQ(Limits::min_exponent10, int(std::ceil(std::log10(double{Limits::min()}))));
}

TYPED_TEST(Halves, ArithmeticIsThatOfFloats) {
  static_assert(std::is_same_v<decltype(TypeParam(1) * TypeParam(2) + TypeParam(3)), float>);
  static_assert(std::is_same_v<decltype(TypeParam(1) + 2.0), double>);
  static_assert(std::is_convertible_v<TypeParam, float>);
  static_assert(!std::is_convertible_v<float, TypeParam>, "it rounds, so it is written");
  static_assert(!std::is_convertible_v<int, TypeParam>);
  static_assert(std::is_trivial_v<TypeParam> && sizeof(TypeParam) == 2);
  static_assert(std::is_same_v<accumulate_t<TypeParam>, float>);
  EXPECT_TRUE(TypeParam(1) < TypeParam(2) && TypeParam(-0.0) == TypeParam(0));
  EXPECT_FALSE(std::numeric_limits<TypeParam>::quiet_NaN() ==
               std::numeric_limits<TypeParam>::quiet_NaN());
}

TEST(AccumulateTypes, AreThoseOfTheElementsOtherwise) {
  static_assert(std::is_same_v<accumulate_t<float>, float>);
  static_assert(std::is_same_v<accumulate_t<double>, double>);
  static_assert(std::is_same_v<accumulate_t<std::int32_t>, std::int32_t>);
  static_assert(Half(1.5).bits == 0x3e00 && BFloat16(1.5F).bits == 0x3fc0);  // when it is compiled
  EXPECT_EQ(dtype_of<Half>, DType::Half);
}

}  // namespace
}  // namespace opyard::test_half
