// opyard/detail/text/source.h: positions in a text, and excerpts that show them.
//
//   demo::f(Tensor x, Foo y)
//                     ^~~
//
// Columns count characters, from 1, so that the mark is where a person looks. The line is
// shown with bytes that are no printable text escaped, and a long one only around the mark.
//
// Depends on: base/export.h.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "opyard/base/export.h"

namespace opyard::detail {

// The bytes from `begin` to `end` of a text.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct LineAndColumn {
  std::size_t line;    // from 1
  std::size_t column;  // from 1, in characters
};

OPYARD_API LineAndColumn line_and_column_of(std::string_view text, std::size_t offset);

// The line in which the span begins, and a second one that marks the span.
OPYARD_API std::string picture_of(std::string_view text, Span span);

// The first byte that is NUL or not UTF-8, or npos.
OPYARD_API std::size_t find_wrong_byte(std::string_view text);

// The text with bytes escaped that are not printable or not UTF-8, cut after some 60 bytes.
OPYARD_API std::string shown(std::string_view text);

}  // namespace opyard::detail
