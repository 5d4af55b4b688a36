// schema/source.h: the text of a schema, and errors that point into it.
//
//   1:17: expected ')' but found the end
//   demo::f(Tensor x
//                   ^
//
// Columns count characters, from 1, so that the caret stands where a person looks. The line
// is shown with bytes that are no printable text escaped, and a long one only around the
// caret.
//
// Depends on: base/error.h.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "opyard/base/export.h"

namespace opyard::detail {

class Source {
 public:
  // Raises BadSchema where the text is longer than `limit` bytes, has a NUL, or is not UTF-8.
  Source(std::string_view text, std::size_t limit);

  std::string_view text() const noexcept { return text_; }
  // Raises BadSchema: the message above, pointing at the byte `offset`.
  [[noreturn]] OPYARD_COLD void fail_at(std::size_t offset, std::string_view message) const;

 private:
  std::string_view text_;
};

// The text with bytes escaped that are not printable or not UTF-8, cut after some 60 bytes.
std::string shown(std::string_view text);

}  // namespace opyard::detail
