// objects/tensor/tensor_functions.h: the functions of the module that make tensors.
//
// Depends on: runtime/python.h.
#pragma once

#include "runtime/python.h"

namespace opyard::python {

// tensor, from_numpy, from_dlpack. Ends in nulls.
extern PyMethodDef tensor_functions[];

}  // namespace opyard::python
