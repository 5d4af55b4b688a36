// opyard/tensor/dtype.h: the element types of tensors.
//
// Half and BFloat16 are those of tensor/half.h.
//
// Depends on: base/error.h, tensor/half.h, tensor/dtypes.def.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "opyard/base/error.h"
#include "opyard/base/export.h"
#include "opyard/tensor/half.h"

namespace opyard {

// With the numbers that PyTorch has for them.
enum class DType : std::uint8_t {
#define OPYARD_DTYPE(code, name, python, type, dlpack, bits, ...) name = code,
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
};

// Bytes of one element.
constexpr std::size_t item_size(DType dtype) {
  switch (dtype) {
#define OPYARD_DTYPE(code, name, python, type, dlpack, bits, ...) \
  case DType::name:                                               \
    return (bits) / 8;
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
  }
  return 0;
}

constexpr bool is_floating_point(DType dtype) {
  return dtype == DType::Half || dtype == DType::BFloat16 || dtype == DType::Float32 ||
         dtype == DType::Float64;
}
constexpr bool is_complex(DType dtype) {
  return dtype == DType::ComplexFloat || dtype == DType::ComplexDouble;
}
// uint16, uint32 and uint64, which came after the others.
constexpr bool is_wide_unsigned(DType dtype) { return int(dtype) >= int(DType::UInt16); }
// Integers without a sign, Bool not among them.
constexpr bool is_unsigned(DType dtype) { return dtype == DType::UInt8 || is_wide_unsigned(dtype); }
// Integers, Bool not among them.
constexpr bool is_integral(DType dtype) {
  return int(dtype) <= int(DType::Int64) || is_wide_unsigned(dtype);
}
// The integer dtype with a sign that has as many bytes; what is no wide unsigned one, itself.
constexpr DType signed_like(DType dtype) {
  switch (dtype) {
    case DType::UInt16:
      return DType::Int16;
    case DType::UInt32:
      return DType::Int32;
    case DType::UInt64:
      return DType::Int64;
    default:
      return dtype;
  }
}

// One more than the largest number of a dtype: for tables that the numbers are places of.
inline constexpr std::size_t kDTypeCodes = std::size_t(DType::UInt64) + 1;

// The DType of a C++ element type; a type that is none does not compile.
template <typename T>
struct DTypeOf;
#define OPYARD_DTYPE(code, name, python, type, dlpack, bits, ...) \
  template <>                                                     \
  struct DTypeOf<type> {                                          \
    static constexpr DType value = DType::name;                   \
  };
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
// The dtype whose elements are of a C++ type.
template <typename T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

// "float32", "int64", "bool", …
OPYARD_API const char* name_of(DType dtype) noexcept;
OPYARD_API std::optional<DType> find_dtype(std::string_view name) noexcept;
// The dtype with this number in schemas. Raises BadValue for a number that is none.
OPYARD_API DType require_dtype(std::int64_t code);

}  // namespace opyard
