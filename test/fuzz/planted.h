// test/fuzz/planted.h: the condition of the planted defect.
#pragma once

#include "opyard/schema/schema.h"

namespace opyard::fuzz {

// A keyword-only argument is written, and its sets behind the arrow are others than before it.
inline bool shows_planted_defect(const Argument& argument) {
  return argument.keyword_only && argument.alias && argument.alias->is_write &&
         argument.alias->after != argument.alias->before;
}

}  // namespace opyard::fuzz
