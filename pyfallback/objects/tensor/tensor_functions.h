// objects/tensor/tensor_functions.h: the functions of the module that make tensors.
//
// Depends on: python/python.h.
#pragma once

#include "opyard/detail/python/python.h"

namespace opyard::python {

// tensor, from_numpy, from_dlpack. Ends in nulls.
extern PyMethodDef tensor_functions[];

}  // namespace opyard::python
