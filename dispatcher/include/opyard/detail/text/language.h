// opyard/detail/text/language.h: dialects of the lexer and cursor.
//
// A schema, a graph and a formula are split into tokens by the same rules; what is a symbol in
// each, and what its messages call things, is said here. A language is a constant of its parser:
//
//   constexpr std::string_view kSymbols[] = {"->", "::", "(", ")", ",", "+", "-", "*"};
//   constexpr Language kFormula = {.what = "formula", .nodes = "operations",
//                                  .error = ErrorKind::BadValue, .symbols = kSymbols};
//
// Depends on: base/error.h.
#pragma once

#include <span>
#include <string_view>

#include "opyard/base/error.h"

namespace opyard::detail {

struct Language {
  const char* what;   // "schema": "a schema of 2000000 bytes is too long"
  const char* nodes;  // what count_node() counts: "too many <nodes>; the limit is 16384"
  ErrorKind error;    // that all faults of a text are raised as
  // A symbol that begins with another one is listed before it: "->" before "-".
  std::span<const std::string_view> symbols;
  // If not 0, it and a name or number behind it are a token Variable: '%' for %x, %12 and
  // %self.weight.1. Else, and if neither follows, the character is a symbol or Wrong.
  char variable_mark = 0;
  // Begins a comment that ends with the line; 0 if there are none.
  char comment = '#';
  // Whether comments come out as tokens Comment; else they are skipped as blanks are.
  bool keep_comments = false;
  // Whether "1.5-2j", written without blanks, is one token. False if "-" is an operator.
  bool complex_sums = false;
};

}  // namespace opyard::detail
