// opyard/detail/text/limits.h: limits of parsers: depth, length, count.
//
// Depends on: nothing.
#pragma once

#include <cstddef>

namespace opyard {

// A text past a limit is refused, and the message says which limit it was.
struct TextLimits {
  std::size_t nesting = 256;      // levels of a type, a literal or a block; above 512 it is 512
  std::size_t name_bytes = 1024;  // of each name
  std::size_t items = 255;        // of one list: arguments, results, names of an alias set
  std::size_t nodes = 1 << 14;    // whatever the parser counts, together
  std::size_t bytes = 1 << 20;
  std::size_t faults = 20;  // reported at most; the rest of the text is then not looked at
};

}  // namespace opyard
