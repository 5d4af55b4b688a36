// schema/constants.cpp: named constants in default values.
#include "schema/constants.h"

#include <span>

#include "opyard/schema/type.h"

namespace opyard::detail {
namespace {

// A name that a type knows for a number.
struct Constant {
  std::string_view name;
  std::int64_t number;
};
constexpr Constant kDTypeConstants[] = {
    {"byte", std::int64_t(DType::UInt8)},          {"char", std::int64_t(DType::Int8)},
    {"short", std::int64_t(DType::Int16)},         {"int", std::int64_t(DType::Int32)},
    {"long", std::int64_t(DType::Int64)},          {"half", std::int64_t(DType::Half)},
    {"float", std::int64_t(DType::Float32)},       {"double", std::int64_t(DType::Float64)},
    {"cfloat", std::int64_t(DType::ComplexFloat)}, {"cdouble", std::int64_t(DType::ComplexDouble)},
};
constexpr Constant kLayouts[] = {
    {"strided", std::int64_t(Layout::Strided)},
    {"sparse", std::int64_t(Layout::Sparse)},
    {"sparse_coo", std::int64_t(Layout::Sparse)},
};
constexpr Constant kMemoryFormats[] = {
    {"contiguous_format", std::int64_t(MemoryFormat::Contiguous)},
    {"preserve_format", std::int64_t(MemoryFormat::Preserve)},
    {"channels_last", std::int64_t(MemoryFormat::ChannelsLast)},
    {"channels_last_3d", std::int64_t(MemoryFormat::ChannelsLast3d)},
};
// What a loss function does with its elements.
constexpr Constant kReductions[] = {{"Mean", 1}, {"Sum", 2}};

std::optional<std::int64_t> find_in(std::span<const Constant> constants, std::string_view name) {
  for (const Constant& constant : constants) {
    if (constant.name == name) return constant.number;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> find_constant(TypeKind type, std::string_view name) {
  switch (type) {
    case TypeKind::ScalarType:
      // Here "float" and "int" are the short names of C types, not our names of dtypes.
      if (const auto number = find_in(kDTypeConstants, name)) return number;
      if (const auto dtype = find_dtype(name)) return std::int64_t(*dtype);
      return std::nullopt;
    case TypeKind::Layout:
      return find_in(kLayouts, name);
    case TypeKind::MemoryFormat:
      return find_in(kMemoryFormats, name);
    case TypeKind::Int:
    case TypeKind::SymInt:
      return find_in(kReductions, name);
    default:
      return std::nullopt;
  }
}

}  // namespace opyard::detail
