// schema/alias_sets.h: the alias sets that a type's annotation names, at every depth.
//
// Depends on: schema/schema.h.
#pragma once

#include <string_view>
#include <unordered_set>

#include "opyard/schema/schema.h"

namespace opyard::detail {

using AliasSets = std::unordered_set<std::string_view>;

// Every set that is on a type or inside it when the call ends.
inline void collect_sets(const AliasInfo& alias, AliasSets& sets) {
  sets.insert(alias.after.begin(), alias.after.end());
  for (const AliasInfo& inner : alias.contained) collect_sets(inner, sets);
}

}  // namespace opyard::detail
