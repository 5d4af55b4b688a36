// kernels/blocks/check.h: bodies and formulas of blocks, read with the library that they are for.
#pragma once

#include <vector>

#include "blocks/files.h"

namespace opyard::blocks {

// With the operator library loaded. Raises Fault for an unknown operator, an unknown tag, a result
// that does not fit and a body that calls itself, with file, line and column.
void check(const std::vector<OperatorSource>& sources);

}  // namespace opyard::blocks
