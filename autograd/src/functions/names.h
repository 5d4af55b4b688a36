// autograd/functions/names.h: names of backward functions.
//
// Depends on: autograd/derivative.h.
#pragma once

#include "opyard/autograd/derivative.h"

namespace opyard::autograd {

// What it is written in place of: "mul_.Tensor" has the functional form "mul.Tensor". Null if it
// has none.
const Operator* functional_form(const Operator& op);

}  // namespace opyard::autograd
