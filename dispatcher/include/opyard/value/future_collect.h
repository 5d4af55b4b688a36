// opyard/value/future_collect.h: one future for several.
//
// While they wait, neither keeps the futures alive that it waits for: those who complete them do.
//
// Depends on: value/future_object.h.
#pragma once

#include <vector>

#include "opyard/detail/value/future_object.h"

namespace opyard {

// Completed once all of them are, with a list of them in the order given; at once if there are
// none. The first error is its own, at once. Raises BadArgument for a null pointer.
OPYARD_API CountedPtr<FutureObject> collect_all(
    const std::vector<CountedPtr<FutureObject>>& futures);

// Completed as the first of them is, with its value or its error; with None at once if there are
// none. Raises BadArgument for a null pointer.
OPYARD_API CountedPtr<FutureObject> collect_any(
    const std::vector<CountedPtr<FutureObject>>& futures);

}  // namespace opyard
