// opyard/value/alias.h: reachability and aliasing of values.
//
// Only what can change can be shared: tensors, storages, lists, dicts, tuples (whose elements
// can change), generators, capsules, futures, and objects of users and interpreters. A number, a
// text, a device, a stream or a member of an enum aliases nothing.
//
// Depends on: value/value.h.
#pragma once

#include <vector>

#include "opyard/value/value.h"

namespace opyard {

// Whether a change of one can be seen in the other itself, without looking at elements: they
// are the same object, or tensors or storages with the same memory.
OPYARD_API bool is_alias_of(const Value& a, const Value& b) noexcept;

// The value and all that can be reached through its elements, keys, objects of users
// (Object::append_values()) and futures that have a value, each once, from the outside in; what
// aliases nothing is left out. Raises std::bad_alloc.
OPYARD_API std::vector<Value> sub_values(const Value& value);

// Whether something that can be reached through one is an alias of something that can be
// reached through the other. Raises std::bad_alloc.
OPYARD_API bool overlaps(const Value& a, const Value& b);

}  // namespace opyard
