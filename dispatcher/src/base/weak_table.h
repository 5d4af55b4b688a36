// base/weak_table.h: what the end of a counted object tells those who only watch it.
//
// Depends on: base/counted.h.
#pragma once

#include "opyard/base/counted.h"

namespace opyard::detail {

// The object has no owner left and its memory is about to be given back.
void forget_watched(const Counted* object) noexcept;

}  // namespace opyard::detail
