// exported/tree.h: how a program's inputs and outputs are nested, as jit/files/model.h writes it.
//
// Depends on: files/json.h.
#pragma once

#include <string>

namespace opyard::jit {

// From the text of a tree spec. Raises Unsupported for containers other than tuples, lists and
// dicts.
std::string convert_tree(const std::string& spec, const std::string& what);

}  // namespace opyard::jit
