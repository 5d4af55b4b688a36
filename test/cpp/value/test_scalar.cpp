// test_scalar.cpp: protects numbers from changing unnoticed when their type changes.
// Suspect dispatcher/src/value/scalar.cpp.
#include "opyard/value/scalar.h"

#include <gtest/gtest.h>

#include <limits>

#include "../thrown_by.h"

namespace opyard::test_scalar {
namespace {

TEST(Scalar, KeepsTheTypeItWasMadeFrom) {
  EXPECT_TRUE(Scalar(true).is_bool());
  EXPECT_TRUE(Scalar(1).is_integral());
  EXPECT_TRUE(Scalar(std::int64_t{1}).is_integral());
  EXPECT_TRUE(Scalar(1.0).is_floating_point());
  EXPECT_FALSE(Scalar(true).is_integral());
  EXPECT_FALSE(Scalar(1).is_floating_point());
  EXPECT_EQ(Scalar(Value(2.5)).value(), Value(2.5));
}

TEST(Scalar, ConvertsToAFloatExactlyOrRounded) {
  EXPECT_EQ(Scalar(true).to_double(), 1.0);
  EXPECT_EQ(Scalar(-7).to_double(), -7.0);
  EXPECT_EQ(Scalar(2.5).to_double(), 2.5);
  EXPECT_EQ(Scalar((std::int64_t{1} << 53) + 1).to_double(), 0x1p53);
}

TEST(Scalar, ConvertsToAnIntByTruncation) {
  EXPECT_EQ(Scalar(2.9).to_int(), 2);
  EXPECT_EQ(Scalar(-2.9).to_int(), -2);
  EXPECT_EQ(Scalar(true).to_int(), 1);
  EXPECT_EQ(Scalar(-0x1p63).to_int(), std::numeric_limits<std::int64_t>::min());
}

TEST(Scalar, RefusesAnIntThatDoesNotFit) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double misfits[] = {0x1p63, -0x1.0000000000001p63, infinity, -infinity,
                            std::numeric_limits<double>::quiet_NaN()};
  for (const double number : misfits) {
    EXPECT_THROWN(Scalar(number).to_int(), BadValue,
                  float_text(number) +
                      " does not fit into an int of 64 bits; it must be finite "
                      "and between -2^63 and 2^63 - 1");
  }
}

TEST(Scalar, IsTrueWhereItIsNotZero) {
  EXPECT_TRUE(Scalar(0.5).to_bool());
  EXPECT_TRUE(Scalar(-1).to_bool());
  EXPECT_TRUE(Scalar(std::numeric_limits<double>::quiet_NaN()).to_bool());
  EXPECT_FALSE(Scalar(-0.0).to_bool());
  EXPECT_FALSE(Scalar(0).to_bool());
  EXPECT_FALSE(Scalar(false).to_bool());
}

TEST(Scalar, AComplexNumberIsRealWhereItsImaginaryPartIsZero) {
  using Complex = std::complex<double>;
  EXPECT_TRUE(Scalar(Complex(1, 2)).is_complex());
  EXPECT_FALSE(Scalar(Complex(1, 2)).is_floating_point());
  EXPECT_EQ(Scalar(Complex(1, 2)).to_complex(), Complex(1, 2));
  EXPECT_EQ(Scalar(3).to_complex(), Complex(3));
  EXPECT_EQ(Scalar(true).to_complex(), Complex(1));
  EXPECT_EQ(Scalar(Complex(2.5, -0.0)).to_double(), 2.5);
  EXPECT_EQ(Scalar(Complex(2.5, 0)).to_int(), 2);
  EXPECT_TRUE(Scalar(Complex(0, 1)).to_bool());
  EXPECT_FALSE(Scalar(Complex(0, 0)).to_bool());
  EXPECT_THROWN(Scalar(Complex(1, 2)).to_double(), BadValue,
                "1.+2.j is no real number: its imaginary part is not zero");
  EXPECT_THROWN(Scalar(Complex(1, -2)).to_double(), BadValue,
                "1.-2.j is no real number: its imaginary part is not zero");
  EXPECT_THROWN(Scalar(Complex(1, 2)).to_int(), BadValue,
                "1.+2.j is no real number: its imaginary part is not zero");
}

TEST(Scalar, RefusesWhatIsNoNumber) {
  EXPECT_THROWN(Scalar(Value("1")), BadArgument,
                "expected a number (Bool, Int, Double or ComplexDouble) but got String");
  EXPECT_THROWN(Scalar{Value()}, BadArgument,
                "expected a number (Bool, Int, Double or ComplexDouble) but got None");
}

}  // namespace
}  // namespace opyard::test_scalar
