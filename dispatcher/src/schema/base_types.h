// schema/base_types.h: the lines of types.def as a table.
//
// Depends on: value/kind_set.h, schema/type.h.
#pragma once

#include <iterator>
#include <string_view>

#include "opyard/schema/type.h"
#include "value/kind_set.h"

namespace opyard::detail {

struct BaseEntry {
  const char* text;          // in a schema
  const char* runtime_text;  // of the type a kernel sees
  KindSet kinds;             // of the values it accepts
};

// In the namespace of the names that the last column is written in.
namespace kind_set {
inline constexpr BaseEntry kBaseEntries[] = {
#define OPYARD_BASE_TYPE(name, text, runtime, kinds) {text, runtime, kinds},
#include "opyard/schema/types.def"
#undef OPYARD_BASE_TYPE
};
}  // namespace kind_set
using kind_set::kBaseEntries;

inline constexpr int kBaseTypeCount = int(std::size(kBaseEntries));
static_assert(int(TypeKind::List) == kBaseTypeCount, "base types come first in TypeKind");

// A value of any type fits: Any, or a variable of a template.
inline bool is_anything(const Type& type) {
  return type.kind() == TypeKind::Any || type.kind() == TypeKind::Variable;
}

constexpr bool is_base(TypeKind kind) { return int(kind) < kBaseTypeCount; }
constexpr const BaseEntry& base_entry(TypeKind kind) { return kBaseEntries[int(kind)]; }

// The base type that a kernel sees for another one: Int for SymInt and Layout. A Scalar and a
// compound type give themselves.
constexpr TypeKind runtime_kind(TypeKind kind) {
  if (!is_base(kind)) return kind;
  for (int i = 0; i < kBaseTypeCount; ++i) {
    if (std::string_view(base_entry(kind).runtime_text) == kBaseEntries[i].text) return TypeKind(i);
  }
  return kind;
}

}  // namespace opyard::detail
