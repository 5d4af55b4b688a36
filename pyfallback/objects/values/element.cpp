// objects/values/element.cpp: reading and writing single elements of every dtype.
#include "objects/values/element.h"

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>

#include "runtime/types.h"

namespace opyard::python {
namespace {

template <typename T>
T load(const void* element) noexcept {
  T value;
  std::memcpy(&value, element, sizeof value);
  return value;
}

template <typename T>
std::string store(T value, void* element) {
  std::memcpy(element, &value, sizeof value);
  return {};
}

bool is_written_with_point(Number number) noexcept { return number.kind >= Number::Kind::Float; }

double as_double(Number number) noexcept {
  if (is_written_with_point(number)) return number.real;
  return number.is_above ? double(std::uint64_t(number.integer)) : double(number.integer);
}

std::string does_not_fit(DType dtype, const std::string& lowest, const std::string& highest) {
  return std::string("does not fit in ") + name_of(dtype) + ", which holds " + lowest + " to " +
         highest;
}

std::string store_uint64(Number number, void* element) {
  auto value = std::uint64_t(number.integer);
  bool fits = number.is_above || number.integer >= 0;
  if (is_written_with_point(number)) {
    const double cut = std::trunc(number.real);
    fits = cut >= 0 && cut < 0x1p64;  // false for NaN
    value = fits ? std::uint64_t(cut) : 0;
  }
  if (!fits) return does_not_fit(DType::UInt64, "0", std::to_string(UINT64_MAX));
  return store(value, element);
}

template <typename T>
std::string store_integer(Number number, DType dtype, void* element) {
  constexpr std::int64_t kLowest = std::numeric_limits<T>::min();
  constexpr std::int64_t kHighest = std::numeric_limits<T>::max();
  std::int64_t value = number.integer;
  bool fits = !number.is_above;
  if (is_written_with_point(number)) {
    const double cut = std::trunc(number.real);
    fits = cut >= -0x1p63 && cut < 0x1p63;  // false for NaN
    value = fits ? std::int64_t(cut) : 0;
  }
  if (!fits || value < kLowest || value > kHighest) {
    return does_not_fit(dtype, std::to_string(kLowest), std::to_string(kHighest));
  }
  return store(T(value), element);
}

// int64 goes to float32 in one rounding, not through double.
float as_float(Number number) noexcept {
  if (is_written_with_point(number)) return float(number.real);
  return number.is_above ? float(std::uint64_t(number.integer)) : float(number.integer);
}

template <typename T>
std::string store_as(Number number, DType dtype, void* element) {
  constexpr bool kIsComplex =
      std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
  if (!kIsComplex && number.kind == Number::Kind::Complex) {
    return std::string("does not fit in ") + name_of(dtype) + ", which has no imaginary part";
  }
  if constexpr (std::is_same_v<T, bool>) {
    return store(std::uint8_t(as_double(number) != 0 ? 1 : 0), element);
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return store_uint64(number, element);
  } else if constexpr (std::is_integral_v<T>) {
    return store_integer<T>(number, dtype, element);
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    return store(T(as_float(number), float(number.imaginary)), element);
  } else if constexpr (kIsComplex) {
    return store(T(as_double(number), number.imaginary), element);
  } else if constexpr (std::is_same_v<T, float>) {
    return store(as_float(number), element);
  } else {
    return store(T(as_double(number)), element);
  }
}

// The element as a bool, std::int64_t, std::uint64_t, double or std::complex<double>.
template <typename T>
auto read_element(const void* element) noexcept {
  if constexpr (std::is_same_v<T, bool>) {
    return load<std::uint8_t>(element) != 0;
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return load<T>(element);
  } else if constexpr (std::is_integral_v<T>) {
    return std::int64_t{load<T>(element)};
  } else if constexpr (std::is_floating_point_v<T> || is_half_type<T>) {
    return double{accumulate_t<T>(load<T>(element))};
  } else {
    return std::complex<double>(load<T>(element));
  }
}

Owned element_to_object(bool value) { return Owned::share(value ? Py_True : Py_False); }
Owned element_to_object(std::int64_t value) { return checked(PyLong_FromLongLong(value)); }
Owned element_to_object(std::uint64_t value) { return checked(PyLong_FromUnsignedLongLong(value)); }
Owned element_to_object(double value) { return checked(PyFloat_FromDouble(value)); }
Owned element_to_object(std::complex<double> value) {
  return checked(PyComplex_FromDoubles(value.real(), value.imag()));
}

template <typename T>
Value value_of_element(T value) {
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    if (value > std::uint64_t(INT64_MAX)) {
      fail(ErrorKind::BadValue, "the uint64 " + std::to_string(value) +
                                    " does not fit in an int of a schema, which holds up to " +
                                    std::to_string(INT64_MAX) + "; convert it to float64");
    }
    return std::int64_t(value);
  } else {
    return value;
  }
}

}  // namespace

Number Number::of_bool(bool value) noexcept {
  Number number;
  number.kind = Kind::Bool;
  number.integer = value ? 1 : 0;
  return number;
}
Number Number::of_int(std::int64_t value) noexcept {
  Number number;
  number.integer = value;
  return number;
}
Number Number::of_uint64(std::uint64_t value) noexcept {
  Number number;
  number.integer = std::int64_t(value);
  number.is_above = value > std::uint64_t(INT64_MAX);
  return number;
}
Number Number::of_float(double value) noexcept {
  Number number;
  number.kind = Kind::Float;
  number.real = value;
  return number;
}
Number Number::of_complex(double real, double imaginary) noexcept {
  Number number;
  number.kind = Kind::Complex;
  number.real = real;
  number.imaginary = imaginary;
  return number;
}

const std::byte* require_readable(const Tensor& tensor, const char* what) {
  if (!tensor.device().is_cpu()) {
    fail(ErrorKind::Unsupported,
         std::string(what) + ": the tensor " + describe(tensor) + " is on device '" +
             to_string(tensor.device()) + "', whose memory Python cannot read; " +
             (tensor.device().backend == Backend::Meta ? "it has no elements"
                                                       : "copy it to the cpu first"));
  }
  const void* const data = tensor.raw();
  if (data == nullptr && tensor.numel() != 0) {
    fail(ErrorKind::BadValue,
         std::string(what) + ": the tensor " + describe(tensor) +
             (tensor.keys().has(DispatchKey::Python)
                  ? " has no memory of its own: its class answers operators; ask for what it wraps"
                  : " has no memory yet, so it has no values"));
  }
  return static_cast<const std::byte*>(data);
}

Owned to_number(DType dtype, const void* element) {
  switch (dtype) {
#define OPYARD_DTYPE(code, name, python, type, ...) \
  case DType::name:                                 \
    return element_to_object(read_element<type>(element));
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
  }
  fail(ErrorKind::Internal, "a dtype without a Python number");
}

Value to_number_value(DType dtype, const void* element) {
  switch (dtype) {
#define OPYARD_DTYPE(code, name, python, type, ...) \
  case DType::name:                                 \
    return value_of_element(read_element<type>(element));
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
  }
  fail(ErrorKind::Internal, "a dtype that is no number");
}

std::string store_number(DType dtype, Number number, void* element) {
  switch (dtype) {
#define OPYARD_DTYPE(code, name, python, type, ...) \
  case DType::name:                                 \
    return store_as<type>(number, dtype, element);
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
  }
  fail(ErrorKind::Internal, "a dtype that no number can be written to");
}

}  // namespace opyard::python
