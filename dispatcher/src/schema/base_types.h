// schema/base_types.h: the lines of types.def as a table.
//
// Depends on: schema/type.h.
#pragma once

#include <iterator>

#include "opyard/schema/type.h"

namespace opyard::detail {

struct BaseEntry {
  const char* text;          // in a schema
  const char* runtime_text;  // of the type a kernel sees
};

inline constexpr BaseEntry kBaseEntries[] = {
#define OPYARD_BASE_TYPE(name, text, runtime) {text, runtime},
#include "opyard/schema/types.def"
#undef OPYARD_BASE_TYPE
};

inline constexpr int kBaseTypeCount = int(std::size(kBaseEntries));
static_assert(int(TypeKind::List) == kBaseTypeCount, "base types come first in TypeKind");

constexpr bool is_base(TypeKind kind) { return int(kind) < kBaseTypeCount; }
constexpr const BaseEntry& base_entry(TypeKind kind) { return kBaseEntries[int(kind)]; }

}  // namespace opyard::detail
