// objects/tensor/traced_read.cpp: notification of traced reads.
#include "objects/tensor/traced_read.h"

#include "objects/tensor/tensor.h"
#include "runtime/hooks.h"
#include "runtime/types.h"

namespace opyard::python {

void tell_trace(PyObject* tensor, const char* what) {
  const Owned name = checked(PyUnicode_FromString(what));
  checked(PyObject_CallFunctionObjArgs(require_hook(runtime_of_tensor(tensor), hook::trace_read),
                                       tensor, name.get(), nullptr));
}

void tell_trace_of_made(PyObject* tensor) {
  checked(PyObject_CallOneArg(require_hook(runtime_of_tensor(tensor), hook::trace_made), tensor));
}

}  // namespace opyard::python
