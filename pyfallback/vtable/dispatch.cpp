// vtable/dispatch.cpp: boxed calls that C++ hands to Python.
#include "kernels/handlers.h"
#include "kernels/python_dispatcher.h"
#include "kernels/python_kernel.h"
#include "vtable/vtable.h"

namespace opyard::python {

void vtable::dispatch(Interpreter& interpreter, const Operator& op, Stack& stack) {
  dispatch_to_handlers(runtime_of(interpreter), op, stack);
}

void vtable::python_op_registration_trampoline(Interpreter& interpreter, const Operator& op,
                                               DispatchKey key, DispatchKeySet keyset, Stack& stack,
                                               bool with_keyset, bool with_op) {
  run_registered_function(runtime_of(interpreter), op, key, keyset, stack, with_keyset, with_op);
}

void vtable::python_dispatcher(Interpreter& interpreter, const Operator& op, DispatchKeySet keyset,
                               Stack& stack) {
  dispatch_in_python(runtime_of(interpreter), op, keyset, stack);
}

}  // namespace opyard::python
