// protocol/tensor_slots.cpp: what C++ asks the Python object of one tensor to do.
#include "protocol/handlers.h"
#include "protocol/slots.h"

namespace opyard::python {

void slots::detach(Interpreter& interpreter, const TensorImpl& self, Tensor& result) {
  // Not const where the tensor is owned: a handle of it counts, and its slot may be written.
  const auto shared = CountedPtr<TensorImpl>::share(const_cast<TensorImpl*>(&self));
  result = detach_by_handler(runtime_of(interpreter), Tensor(shared));
}

void slots::reset_backward_hooks(Interpreter&, const TensorImpl&) {
  refuse_slot("reset_backward_hooks");
}

}  // namespace opyard::python
