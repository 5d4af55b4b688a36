// opyard/jit/constant.h: the value of a prim::Constant node.
//
// An int attribute is a Bool for an output of type bool and a Double for float; a text is a Device
// for Device; without the attribute `value` the constant is None.
//
// Depends on: jit/graph.h.
#pragma once

#include "opyard/jit/graph.h"

namespace opyard::jit {

// The value of a prim::Constant. Raises BadGraph for another node.
OPYARD_API opyard::Value constant_value(const Node& node);
// The type that a constant has by itself: that of the value, with its shape for a tensor.
OPYARD_API TypePtr type_of_constant(const opyard::Value& value);

}  // namespace opyard::jit
