// slots/dispatch_slots.cpp: boxed calls that C++ hands to Python.
#include "kernels/handlers.h"
#include "kernels/python_dispatcher.h"
#include "kernels/python_kernel.h"
#include "slots/slots.h"

namespace opyard::python {

void slots::dispatch(Interpreter& interpreter, const Operator& op, Stack& stack) {
  dispatch_to_handlers(runtime_of(interpreter), op, stack);
}

void slots::python_op_registration_trampoline(Interpreter& interpreter, const Operator& op,
                                              DispatchKey key, DispatchKeySet keyset, Stack& stack,
                                              bool with_keyset, bool with_op) {
  run_registered_function(runtime_of(interpreter), op, key, keyset, stack, {with_keyset, with_op});
}

void slots::python_dispatcher(Interpreter& interpreter, const Operator& op, DispatchKeySet keyset,
                              Stack& stack) {
  dispatch_in_python(runtime_of(interpreter), op, keyset, stack);
}

}  // namespace opyard::python
