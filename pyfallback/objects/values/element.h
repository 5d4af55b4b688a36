// objects/values/element.h: one element of a tensor as a Python number, and back.
//
// Depends on: runtime/owned.h, tensor/tensor.h, value/value.h.
#pragma once

#include "runtime/owned.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "opyard/tensor/tensor.h"
#include "opyard/value/value.h"

namespace opyard::python {

// The bytes of a tensor that the CPU can read. Raises Unsupported, naming `what`, for others;
// BadValue for a tensor of elements without memory.
const std::byte* require_readable(const Tensor& tensor, const char* what);

// bool, int, float or complex. Throws PythonErrorSet. With the GIL held.
Owned to_number(DType dtype, const void* element);
// The same as a value. Raises BadValue for a uint64 that no int of a schema holds.
Value to_number_value(DType dtype, const void* element);

// A number on its way into elements, whatever wrote it: bool, int, float or complex.
struct Number {
  enum class Kind : std::uint8_t { Bool, Int, Float, Complex };
  Kind kind = Kind::Int;
  bool is_above = false;  // an int above int64, whose bits `integer` has
  union {
    std::int64_t integer = 0;  // also 0 or 1 for Bool, and the bits of a uint64
    double real;               // of Float and Complex
  };
  double imaginary = 0;

  static Number of_bool(bool value) noexcept;
  static Number of_int(std::int64_t value) noexcept;
  static Number of_uint64(std::uint64_t value) noexcept;
  static Number of_float(double value) noexcept;
  static Number of_complex(double real, double imaginary) noexcept;
};

// Why a number cannot be an element of this dtype, as the end of a sentence ("does not fit …"),
// or "" if it was stored. Floats are cut towards zero for integers; not-zero is True; complex
// numbers fit in complex dtypes only.
std::string store_number(DType dtype, Number number, void* element);

}  // namespace opyard::python
