// schema/print.h: printer of schema parts, shared with messages.
//
// Depends on: schema/schema.h.
#pragma once

#include <string>
#include <string_view>

#include "opyard/schema/schema.h"

namespace opyard::detail {

// Appends "(a! -> b|c)", "!" for an anonymous write set, and nothing without sets.
void print_sets(std::string& out, const AliasInfo& alias);

// Appends the text in double quotes, with escapes.
void print_quoted(std::string& out, std::string_view text);

// Appends a default value as a schema has it behind the "=".
void print_default(std::string& out, const Value& value);

}  // namespace opyard::detail
