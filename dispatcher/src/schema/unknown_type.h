// schema/unknown_type.h: looking up the name of a type, and the error for an unknown one.
//
// Depends on: schema/schema_cursor.h.
#pragma once

#include <string_view>

#include "schema/schema_cursor.h"

namespace opyard::detail {

// A base type, a registered class or a type variable; null if the name is none of these.
TypePtr find_type(std::string_view name);

// Reports the name, with what was probably meant.
void report_unknown_type(SchemaCursor& cursor, Span span, std::string_view name);

}  // namespace opyard::detail
