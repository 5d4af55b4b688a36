// vtable/tensor.cpp: what C++ asks the Python object of one tensor to do.
#include "kernels/handlers.h"
#include "vtable/vtable.h"

#include "objects/tensor/tensor.h"
#include "runtime/errors.h"
#include "runtime/gil.h"

namespace opyard::python {
namespace {

// Not const if the tensor is owned: a handle of it counts, and its link may be written.
Tensor handle_of(const TensorImpl& self) {
  return Tensor(CountedPtr<TensorImpl>::share(const_cast<TensorImpl*>(&self)));
}

}  // namespace

void vtable::detach(Interpreter& interpreter, const TensorImpl& self, Tensor& result) {
  result = detach_by_handler(runtime_of(interpreter), handle_of(self));
}

void vtable::reset_backward_hooks(Interpreter& interpreter, const TensorImpl& self) {
  Runtime& runtime = runtime_of(interpreter);
  const HoldGil gil(runtime);
  const Owned object = wrap(runtime, handle_of(self));
  const int failed =
      in_python([&] { return PyObject_SetAttrString(object.get(), "_backward_hooks", Py_None); });
  if (failed != 0) throw_python_error(runtime);
}

}  // namespace opyard::python
