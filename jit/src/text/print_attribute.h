// text/print_attribute.h: printer of attributes.
//
// Depends on: jit/attribute.h.
#pragma once

#include <functional>
#include <string>

#include "opyard/jit/attribute.h"

namespace opyard::jit::detail {

// The name under which a graph is written behind the one that holds it.
using GraphNames = std::function<std::string(const Graph&)>;

std::string attribute_text(const Attribute& attribute, const GraphNames& names);
// A value inside an attribute: texts quoted, one element of a tensor in braces.
std::string literal_text(const opyard::Value& value);

}  // namespace opyard::jit::detail
