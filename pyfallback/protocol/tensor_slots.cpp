// protocol/tensor_slots.cpp: what C++ asks the Python object of one tensor to do.
#include "protocol/slots.h"

namespace opyard::python {

void slots::detach(Interpreter&, const TensorImpl&, Tensor&) { refuse_slot("detach"); }

void slots::reset_backward_hooks(Interpreter&, const TensorImpl&) {
  refuse_slot("reset_backward_hooks");
}

}  // namespace opyard::python
