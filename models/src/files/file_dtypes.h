// files/file_dtypes.h: dtype names of file formats.
//
// A new line in dtypes.def does not build until it has a row here; a format that cannot hold it has
// "" or 0.
//
// Depends on: tensor/dtype.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "opyard/tensor/dtype.h"

namespace opyard::jit {

struct FileDType {
  DType dtype;
  std::string_view safetensors;
  std::string_view npy;
  std::int64_t exported;     // the number in programs of torch.export
  std::string_view storage;  // the class of the memory, in pickles of torch.save()
};
inline constexpr std::array kFileDTypes = {
    FileDType{DType::Bool, "BOOL", "|b1", 12, "BoolStorage"},
    FileDType{DType::UInt8, "U8", "|u1", 1, "ByteStorage"},
    FileDType{DType::Int8, "I8", "|i1", 2, "CharStorage"},
    FileDType{DType::Int16, "I16", "<i2", 3, "ShortStorage"},
    FileDType{DType::Int32, "I32", "<i4", 4, "IntStorage"},
    FileDType{DType::Int64, "I64", "<i8", 5, "LongStorage"},
    FileDType{DType::Half, "F16", "<f2", 6, "HalfStorage"},
    FileDType{DType::BFloat16, "BF16", "", 13, "BFloat16Storage"},
    FileDType{DType::Float32, "F32", "<f4", 7, "FloatStorage"},
    FileDType{DType::Float64, "F64", "<f8", 8, "DoubleStorage"},
    FileDType{DType::ComplexFloat, "C64", "<c8", 10, "ComplexFloatStorage"},
    FileDType{DType::ComplexDouble, "", "<c16", 11, "ComplexDoubleStorage"},
    FileDType{DType::UInt16, "U16", "<u2", 28, ""},
    FileDType{DType::UInt32, "U32", "<u4", 34, ""},
    FileDType{DType::UInt64, "U64", "<u8", 35, ""},
};

// It counts: to GCC with -fsanitize=undefined, the address of a row is no constant.
constexpr bool has_file_dtype(DType dtype) noexcept {
  return std::ranges::count(kFileDTypes, dtype, &FileDType::dtype) == 1;
}
constexpr const FileDType* find_file_dtype(DType dtype) noexcept {
  const auto* const found = std::ranges::find(kFileDTypes, dtype, &FileDType::dtype);
  return found == kFileDTypes.end() ? nullptr : &*found;
}
#define OPYARD_DTYPE(code, Name, ...) \
  static_assert(has_file_dtype(DType::Name), #Name " has no row in kFileDTypes");
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE

// The dtype whose `member` is `given`, as (&FileDType::npy, "<f4").
template <typename Given>
constexpr std::optional<DType> find_dtype_by(Given FileDType::* member, Given given) noexcept {
  if (given == Given()) return std::nullopt;
  const auto* const found = std::ranges::find(kFileDTypes, given, member);
  if (found == kFileDTypes.end()) return std::nullopt;
  return found->dtype;
}

}  // namespace opyard::jit
