// base/identifier.h: valid names of operators, namespaces, keys and arguments.
//
// Not the functions of <cctype>: those depend on the locale of the host.
//
// Depends on: nothing of ours.
#pragma once

#include <algorithm>
#include <string_view>

namespace opyard::detail {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr bool begins_identifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// A letter or underscore, then letters, digits and underscores.
constexpr bool is_identifier(std::string_view text) {
  return !text.empty() && begins_identifier(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return begins_identifier(c) || is_digit(c); });
}

}  // namespace opyard::detail
