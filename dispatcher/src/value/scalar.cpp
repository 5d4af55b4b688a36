// value/scalar.cpp: conversions between the four types of a scalar.
#include "opyard/value/scalar.h"

#include <fmt/format.h>

#include <cmath>

namespace opyard {

Scalar::Scalar(const Value& value) : value_(value) {
  if (!value.is_bool() && !value.is_int() && !value.is_double() && !value.is_complex()) {
    fail(ErrorKind::BadArgument,
         fmt::format("expected a number (Bool, Int, Double or ComplexDouble) but got {}",
                     name_of(value.kind())));
  }
}

std::complex<double> Scalar::to_complex() const {
  return value_.is_complex() ? value_.to_complex() : std::complex<double>(to_double());
}

double Scalar::to_double() const {
  if (value_.is_double()) return value_.double_unchecked();
  if (!value_.is_complex()) return double(to_int());
  const std::complex<double> number = value_.to_complex();
  if (number.imag() != 0) {
    fail(ErrorKind::BadValue,
         fmt::format("{} is no real number: its imaginary part is not zero", complex_text(number)));
  }
  return number.real();
}

std::int64_t Scalar::to_int() const {
  if (value_.is_int()) return value_.int_unchecked();
  if (value_.is_bool()) return value_.bool_unchecked() ? 1 : 0;
  const double real = to_double();
  // -2^63 fits and 2^63 does not; both are exact as doubles. NaN fails both comparisons.
  if (!(real >= -0x1p63 && real < 0x1p63)) {
    fail(ErrorKind::BadValue, fmt::format("{} does not fit into an int of 64 bits; it must be "
                                          "finite and between -2^63 and 2^63 - 1",
                                          float_text(real)));
  }
  return std::int64_t(real);
}

bool Scalar::to_bool() const {
  if (value_.is_double()) return value_.double_unchecked() != 0;
  if (value_.is_complex()) return value_.to_complex() != 0.0;
  return to_int() != 0;
}

}  // namespace opyard
