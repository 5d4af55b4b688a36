// opyard/jit/file_check.h: FileCheck: a text against a list of expectations, in order.
//
//   # CHECK: aten::mul           behind what was found last
//   # CHECK-NEXT: aten::add      in the line behind that
//   # CHECK-SAME: %x             further on in the same line
//   # CHECK-NOT: aten::relu      nowhere between its two neighbours
//   # CHECK-COUNT-3: aten::t     so many times, each behind the other
//   # CHECK-DAG: aten::neg       behind what was found before the group, in any order; the matches
//                                of neighbouring CHECK-DAG lines do not overlap
//
// What is before CHECK in a line is not looked at, nor is space around the text. So a text of a
// graph carries its expectations as comments.
//
// Depends on: base/export.h.
#pragma once

#include <string>
#include <string_view>

#include "opyard/base/export.h"

namespace opyard::jit {

// What is not as expected: the line of the expectation, and the text with a mark where the search
// began. Empty if all is. Raises BadValue for expectations that cannot be read, or for none.
OPYARD_API std::string find_mismatch(std::string_view text, std::string_view expectations);

}  // namespace opyard::jit
