// text/print_attribute.h: an attribute's value as a graph's text writes it.
//
// Depends on: jit/attribute.h.
#pragma once

#include <string>
#include <vector>

#include "opyard/jit/attribute.h"

namespace opyard::jit::detail {

// Graphs are added to `graphs`, and are written as <Graph> here.
std::string attribute_text(const Attribute& attribute, std::vector<const Graph*>& graphs);
// A value inside an attribute: texts quoted, one element of a tensor in braces.
std::string literal_text(const opyard::Value& value);

}  // namespace opyard::jit::detail
