// opyard/detail/text/near_names.h: names that are nearly equal, for suggestions in messages.
//
// Depends on: base/export.h.
#pragma once

#include <span>
#include <string_view>

#include "opyard/base/export.h"

namespace opyard::detail {

// Whether they are equal but for upper and lower case of ASCII.
OPYARD_API bool same_letters(std::string_view a, std::string_view b);

// Whether one character was changed, left out, added, or changed places with its neighbour. False
// for equal names.
OPYARD_API bool one_slip(std::string_view a, std::string_view b);

// For names that are short and few, of which others may be a slip away: "GPU" is no "CPU".
inline constexpr std::size_t kFewShortNames = 5;

// The first that is equal but for upper and lower case; else one that is one slip away from a name
// of three characters at least, if possible with the same first character, which a name of fewer
// than `free_begin` must have; empty if there is none.
OPYARD_API std::string_view near_name(std::string_view name,
                                      std::span<const std::string_view> known,
                                      std::size_t free_begin = 3);

}  // namespace opyard::detail
