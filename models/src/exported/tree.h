// exported/tree.h: the nesting of a program's inputs and outputs, as models/model.h writes it.
//
// Depends on: files/json.h.
#pragma once

#include <string>

namespace opyard::jit {

// From the text of a tree spec. Classes that were registered become dicts or tuples.
std::string convert_tree(const std::string& spec, const std::string& what);

}  // namespace opyard::jit
