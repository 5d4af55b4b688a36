// schema/suggest.h: suggestions for wrong default values.
//
// Depends on: schema/schema_cursor.h, text/literal.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "opyard/detail/text/literal.h"
#include "schema/schema_cursor.h"

namespace opyard::detail {

// What a default value of the type looks like, for the message; empty if there is none.
std::string advice_for(const Type& type);

// What fits the type and was obviously meant: True for a true, 1 for 1.0 as an int.
std::optional<std::string> better_text(const SchemaCursor& cursor, const Type& type,
                                       const Literal& literal);

std::string in_double_quotes(std::string_view text);

}  // namespace opyard::detail
