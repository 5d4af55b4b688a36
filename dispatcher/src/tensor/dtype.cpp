// tensor/dtype.cpp: names and numbers of the element types.
#include "opyard/tensor/dtype.h"

#include <fmt/format.h>

namespace opyard {
namespace {

struct Named {
  DType dtype;
  const char* name;
};

constexpr Named kDTypeNames[] = {
#define OPYARD_DTYPE(code, name, python, type, dlpack, bits, ...) {DType::name, #python},
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
};

// The width that the list gives is the width that the compiler gives.
#define OPYARD_DTYPE(code, name, python, type, dlpack, bits, ...) \
  static_assert(sizeof(type) * 8 == (bits), "dtypes.def: wrong number of bits for " #name);
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE

// "uint8 (0), int8 (1), …", for the message about a number that is none.
std::string accepted_codes() {
  std::string text;
  for (const Named& entry : kDTypeNames) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} ({})", entry.name, int(entry.dtype));
  }
  return text;
}

}  // namespace

const char* name_of(DType dtype) noexcept {
  for (const Named& entry : kDTypeNames) {
    if (entry.dtype == dtype) return entry.name;
  }
  return "<no dtype>";
}

std::optional<DType> find_dtype(std::string_view name) noexcept {
  for (const Named& entry : kDTypeNames) {
    if (entry.name == name) return entry.dtype;
  }
  return std::nullopt;
}

DType require_dtype(std::int64_t code) {
  for (const Named& entry : kDTypeNames) {
    if (int(entry.dtype) == code) return entry.dtype;
  }
  fail(ErrorKind::BadValue,
       fmt::format("{} is not the number of a dtype; the dtypes are {}", code, accepted_codes()));
}

}  // namespace opyard
