// objects/tensor/call_alias.h: the operator aten::alias, called from C++.
//
// Depends on: opyard/tensor.h.
#pragma once

#include "opyard/tensor/tensor.h"

namespace opyard::python {

// Loads the operators of aten at its first call. With the GIL held, inside of a CalledFromPython.
Tensor call_alias(const Tensor& tensor);

}  // namespace opyard::python
