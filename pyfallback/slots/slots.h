// slots/slots.h: what C++ may ask of CPython: the functions behind the interpreter's tag.
//
// One function a slot of slot/interpreter_slots.def, where what each does is said. slots.cpp puts
// them into the table; each stands in the file near what it does:
//
//   housekeeping_slots.cpp   name, incref, decref, report_error_callback, is_current
//   dispatch_slots.cpp       dispatch, python_dispatcher, python_op_registration_trampoline
//   tensor_slots.cpp         detach, reset_backward_hooks
//   metadata_slots.cpp       sizes, strides, device, layout and the like
//   fake_slots.cpp           throw_abstract_impl_not_imported_error
//   trace_slots.cpp          trace_gpu_*
//
// Each is called on any thread, with or without the GIL.
//
// Depends on: runtime/runtime.h, slot/interpreter.h.
#pragma once

#include "runtime/runtime.h"

#include "opyard/slot/interpreter.h"

namespace opyard::python {

namespace slots {

#define OPYARD_SLOT_MORE(...) __VA_OPT__(, ) __VA_ARGS__
#define OPYARD_INTERPRETER_SLOT(name, result, parameters, arguments, disarmed) \
  result name(Interpreter& interpreter OPYARD_SLOT_MORE parameters);
#include "opyard/slot/interpreter_slots.def"
#undef OPYARD_INTERPRETER_SLOT
#undef OPYARD_SLOT_MORE

}  // namespace slots

// The table of them all.
extern const InterpreterVTable python_vtable;

// The runtime behind a tag that was made with this table.
inline Runtime& runtime_of(const Interpreter& interpreter) noexcept {
  return *static_cast<Runtime*>(interpreter.context());
}

}  // namespace opyard::python
