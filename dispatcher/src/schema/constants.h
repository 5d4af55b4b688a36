// schema/constants.h: named constants in default values.
//
// Depends on: schema/type.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "opyard/schema/type.h"

namespace opyard::detail {

// The number that a name means if a value of this type is wanted: float for a ScalarType,
// strided for a Layout, contiguous_format for a MemoryFormat, Mean for an int.
std::optional<std::int64_t> find_constant(TypeKind type, std::string_view name);

}  // namespace opyard::detail
