// vtable/tensor.cpp: interpreter functions on one tensor's object.
#include "kernels/handlers.h"
#include "vtable/vtable.h"

#include "objects/tensor/tensor.h"
#include "opyard/detail/tensor/gradient_functions.h"
#include "runtime/gil.h"

namespace opyard::python {
namespace {

// Not const if the tensor is owned: a handle of it counts, and its link may be written.
Tensor tensor_of_impl(const TensorImpl& self) {
  return Tensor(CountedPtr<TensorImpl>::share(const_cast<TensorImpl*>(&self)));
}

}  // namespace

void vtable::detach(Interpreter& interpreter, const TensorImpl& self, Tensor& result) {
  result = detach_by_handler(runtime_of(interpreter), tensor_of_impl(self));
}

void vtable::reset_backward_hooks(Interpreter& interpreter, const TensorImpl& self) {
  const HoldGil gil(runtime_of(interpreter));  // so that they die here
  const auto* const gradients = detail::gradient_functions.load(std::memory_order_acquire);
  if (gradients != nullptr) gradients->reset_hooks(tensor_of_impl(self));
}

}  // namespace opyard::python
