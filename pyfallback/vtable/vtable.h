// vtable/vtable.h: the interpreter functions of CPython.
//
// The functions of interpreter/interpreter_functions.def, where what each does is said. vtable.cpp
// puts them into the table; each is in the file near what it does:
//
//   housekeeping.cpp   name, incref, decref, report_error_callback, is_current
//   dispatch.cpp       dispatch, python_dispatcher, python_op_registration_trampoline
//   tensor.cpp         detach, reset_backward_hooks
//   metadata.cpp       sizes, strides, device, layout and the like
//   fake.cpp           throw_abstract_impl_not_imported_error
//   gpu_trace.cpp          trace_gpu_*
//
// Each is called on any thread, with or without the GIL.
//
// Depends on: runtime/runtime.h, interpreter/interpreter.h.
#pragma once

#include "runtime/runtime.h"

#include "opyard/interpreter/interpreter.h"

namespace opyard::python {

namespace vtable {

#define OPYARD_FUNCTION_MORE(...) __VA_OPT__(, ) __VA_ARGS__
#define OPYARD_INTERPRETER_FUNCTION(name, result, parameters, arguments, disarmed) \
  result name(Interpreter& interpreter OPYARD_FUNCTION_MORE parameters);
#include "opyard/interpreter/interpreter_functions.def"
#undef OPYARD_INTERPRETER_FUNCTION
#undef OPYARD_FUNCTION_MORE

}  // namespace vtable

// The table of them all.
extern const InterpreterVTable python_vtable;

// The runtime behind a tag that was made with this table.
inline Runtime& runtime_of(const Interpreter& interpreter) noexcept {
  return *static_cast<Runtime*>(interpreter.context());
}

}  // namespace opyard::python
