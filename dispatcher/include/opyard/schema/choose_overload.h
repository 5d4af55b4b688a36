// opyard/schema/choose_overload.h: overload resolution for calls of a base name.
//
// The first in order of definition that takes the arguments as they are; if there is none, the
// first that takes them converted, as an int for a float. This is TorchScript's rule. Calls from
// Python and nodes of a graph follow it, each with its own idea of what it was given: objects
// there, static types here.
//
// Depends on: base/export.h.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "opyard/base/export.h"

namespace opyard {

// The position of the overload, of `count` in order of definition. `needs_conversion(i)` says
// whether overload i could take an argument only converted, without running code that sees the
// argument; `takes(i)` whether it takes all of them, and is asked at most once of each.
template <typename NeedsConversion, typename Takes>
std::optional<std::size_t> choose_overload(std::size_t count,
                                           const NeedsConversion& needs_conversion,
                                           const Takes& takes) {
  bool any_skipped = false;
  for (std::size_t i = 0; i < count; ++i) {
    if (needs_conversion(i)) {
      any_skipped = true;
    } else if (takes(i)) {
      return i;
    }
  }
  for (std::size_t i = 0; any_skipped && i < count; ++i) {
    if (needs_conversion(i) && takes(i)) return i;
  }
  return std::nullopt;
}

// For errors, which show the likeliest overload alone: "the others are default, Scalar and out" of
// these; "" of none.
OPYARD_API std::string list_other_overloads(std::vector<std::string> overloads);

}  // namespace opyard
