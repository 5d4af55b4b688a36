// exported/checks.h: input constraints of an exported program: dtypes, sizes, ranges.
//
// Depends on: files/json.h, models/model.h.
#pragma once

#include <string>

#include "files/json.h"
#include "opyard/models/model.h"

namespace opyard::jit {

// What the tensor of this name has to be, from the graph's "tensor_values".
InputCheck read_input_check(const Json& graph, const std::string& name, const std::string& what);
// What the int of this name has to be, from the graph's "sym_int_values".
InputCheck read_int_check(const Json& graph, const std::string& name, const std::string& what);

// The ranges of sizes, by name.
std::map<std::string, std::pair<std::int64_t, std::int64_t>> read_ranges(const Json& program,
                                                                         const std::string& what);

}  // namespace opyard::jit
