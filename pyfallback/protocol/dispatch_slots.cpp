// protocol/dispatch_slots.cpp: boxed calls that C++ hands to Python.
#include "protocol/handlers.h"
#include "protocol/slots.h"

namespace opyard::python {

void slots::dispatch(Interpreter& interpreter, const Operator& op, Stack& stack) {
  dispatch_to_handlers(runtime_of(interpreter), op, stack);
}

void slots::python_op_registration_trampoline(Interpreter&, const Operator&, DispatchKey,
                                              DispatchKeySet, Stack&, bool, bool) {
  refuse_slot("python_op_registration_trampoline");
}

void slots::python_dispatcher(Interpreter&, const Operator&, DispatchKeySet, Stack&) {
  refuse_slot("python_dispatcher");
}

}  // namespace opyard::python
