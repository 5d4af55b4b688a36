// value/scalar.cpp: conversions between the three types of a scalar.
#include "opyard/value/scalar.h"

#include <fmt/format.h>

#include <cmath>

namespace opyard {

Scalar::Scalar(const Value& value) : value_(value) {
  if (!value.is_bool() && !value.is_int() && !value.is_double()) {
    fail(ErrorKind::BadArgument,
         fmt::format("expected a number (Bool, Int or Double) but got {}", name_of(value.kind())));
  }
}

double Scalar::to_double() const {
  if (value_.is_double()) return value_.double_unchecked();
  return double(to_int());
}

std::int64_t Scalar::to_int() const {
  if (value_.is_int()) return value_.int_unchecked();
  if (value_.is_bool()) return value_.bool_unchecked() ? 1 : 0;
  const double real = value_.double_unchecked();
  // -2^63 fits and 2^63 does not; both are exact as doubles. NaN fails both comparisons.
  if (!(real >= -0x1p63 && real < 0x1p63)) {
    fail(ErrorKind::BadValue, fmt::format("{} does not fit into an int of 64 bits; it must be "
                                          "finite and lie between -2^63 and 2^63 - 1",
                                          float_text(real)));
  }
  return std::int64_t(real);
}

bool Scalar::to_bool() const {
  if (value_.is_double()) return value_.double_unchecked() != 0;
  return to_int() != 0;
}

}  // namespace opyard
