// value/kind_set.h: sets of kinds of values, a bit each.
//
// The names in namespace kind_set are those of Kind: kind_set::Int | kind_set::Double.
//
// Depends on: value/value.h.
#pragma once

#include <cstdint>

#include "opyard/value/value.h"

namespace opyard::detail {

using KindSet = std::uint64_t;

constexpr KindSet set_of(Kind kind) { return KindSet{1} << int(kind); }

namespace kind_set {

enum : KindSet {
#define OPYARD_VALUE_KIND(tag, name, printed) name = KindSet{1} << (tag),
#include "opyard/value/kinds.def"
  All = ~KindSet{0},
  // Two values of these kinds may be the same memory or the same object.
  Shared = Tensor | List | Tuple | PyObject | Future | Storage | Generator | Capsule | Object | Dict
};

}  // namespace kind_set

}  // namespace opyard::detail
