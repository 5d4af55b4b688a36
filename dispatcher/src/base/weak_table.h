// base/weak_table.h: the table of weakly referenced objects.
//
// Depends on: base/counted.h.
#pragma once

#include "opyard/base/counted.h"

namespace opyard::detail {

// The object has no owner left and its memory is about to be given back.
void forget_watched(const Counted* object) noexcept;

}  // namespace opyard::detail
