// opyard/value/hash.h: values as keys of hash tables.
//
// Equal values have equal hashes: numbers and texts by content, tuples by their elements, and
// what equals only itself by its address. Lists and dicts have no hash, since they can change.
//
// Depends on: value/value.h.
#pragma once

#include <cstddef>
#include <functional>

#include "opyard/value/value.h"

namespace opyard {

// Raises BadArgument for a list or dict, and for a tuple that contains one.
OPYARD_API std::size_t hash_of(const Value& value);

}  // namespace opyard

template <>
struct std::hash<opyard::Value> {
  std::size_t operator()(const opyard::Value& value) const { return opyard::hash_of(value); }
};
