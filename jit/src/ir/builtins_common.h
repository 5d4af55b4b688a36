// ir/builtins_common.h: indices and slices, which lists and texts share.
//
// Depends on: value/value.h.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "opyard/value/value.h"

namespace opyard::jit::detail {

// A Python index, from the end if it is negative. Raises BadIndex: "… for a list of 3".
std::size_t list_position(std::int64_t index, std::size_t size, std::string_view what);

// The same for a bound, which may be outside.
std::int64_t clamped_index(std::int64_t index, std::int64_t size);

// The places that a slice takes, in order: arguments 1 to 3 are start, end and step. Raises
// BadValue if the step is 0.
std::vector<std::size_t> places_of_slice(const opyard::Value* const* arguments, std::size_t size);

}  // namespace opyard::jit::detail
