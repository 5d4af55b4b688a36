// vtable/vtable.cpp: interpreter function table of CPython.
#include "vtable/vtable.h"

namespace opyard::python {

constinit const InterpreterVTable python_vtable{
#define OPYARD_INTERPRETER_FUNCTION(name, result, parameters, arguments, disarmed) &vtable::name,
#include "opyard/interpreter/interpreter_functions.def"
#undef OPYARD_INTERPRETER_FUNCTION
};

}  // namespace opyard::python
