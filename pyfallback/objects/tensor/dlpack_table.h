// objects/tensor/dlpack_table.h: the exchange table that opyard.Tensor offers to other libraries.
//
// Depends on: runtime/runtime.h.
#pragma once

#include "runtime/runtime.h"

namespace opyard::python {

// Makes it the attribute __dlpack_c_exchange_api__ of the type; opyard/tensor/dlpack_exchange.h
// says what it is. Throws PythonErrorSet.
void offer_exchange_table(PyTypeObject* type);

}  // namespace opyard::python
