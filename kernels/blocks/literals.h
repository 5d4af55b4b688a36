// kernels/blocks/literals.h: C++ of files of operators: tables of literals, and their registration.
#pragma once

#include <string>
#include <vector>

#include "blocks/files.h"

namespace opyard::blocks {

// A source that includes registering/blocks.h. `kernels` are the sources in which functions are
// looked for. Raises Fault, with file and line, for a kernel that none of them has.
std::string literals(const std::vector<OperatorSource>& sources,
                     const std::vector<std::string>& kernels);

}  // namespace opyard::blocks
