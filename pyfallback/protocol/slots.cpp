// protocol/slots.cpp: the table behind CPython's tag.
#include "protocol/slots.h"

#include <string>

namespace opyard::python {

constinit const InterpreterVTable python_vtable{
#define OPYARD_INTERPRETER_SLOT(name, result, parameters, arguments, disarmed) &slots::name,
#include "opyard/slot/interpreter_slots.def"
#undef OPYARD_INTERPRETER_SLOT
};

void refuse_slot(const char* slot) {
  fail(ErrorKind::Unsupported,
       std::string(slot) + ": CPython's side of this version does not serve it");
}

}  // namespace opyard::python
