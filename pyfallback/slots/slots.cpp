// slots/slots.cpp: the table behind CPython's tag.
#include "slots/slots.h"

namespace opyard::python {

constinit const InterpreterVTable python_vtable{
#define OPYARD_INTERPRETER_SLOT(name, result, parameters, arguments, disarmed) &slots::name,
#include "opyard/slot/interpreter_slots.def"
#undef OPYARD_INTERPRETER_SLOT
};

}  // namespace opyard::python
