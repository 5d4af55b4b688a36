// opyard/value/scalar.h: a number whose type the caller chose: bool, int, float or complex.
//
// The C++ type of a schema's `Scalar`. Conversions to a narrower type are explicit.
//
// Depends on: value/value.h.
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>

#include "opyard/value/value.h"

namespace opyard {

class OPYARD_API Scalar {
 public:
  template <std::same_as<bool> Bool>
  Scalar(Bool value) : value_(value) {}                  // NOLINT
  Scalar(int value) : value_(std::int64_t{value}) {}     // NOLINT
  Scalar(std::int64_t value) : value_(value) {}          // NOLINT
  Scalar(double value) : value_(value) {}                // NOLINT
  Scalar(std::complex<double> value) : value_(value) {}  // NOLINT
  // Raises BadArgument if the value is no number.
  explicit Scalar(const Value& value);

  bool is_bool() const noexcept { return value_.is_bool(); }
  bool is_integral() const noexcept { return value_.is_int(); }
  bool is_floating_point() const noexcept { return value_.is_double(); }
  bool is_complex() const noexcept { return value_.is_complex(); }

  // The number in another type: to a float exactly or rounded; to an integer truncated, and
  // raises BadValue if it does not fit; to bool whether it is not zero. A complex number is
  // a float or integer only if its imaginary part is zero, else these raise BadValue.
  std::complex<double> to_complex() const;
  double to_double() const;
  std::int64_t to_int() const;
  bool to_bool() const;

  const Value& value() const noexcept { return value_; }

 private:
  Value value_;
};

}  // namespace opyard
