// objects/values/stand_in.h: objects that stand for a value of an operator.
//
// Where an object is not what an argument's type takes, and its class has a method __opyard_value__(), that is called
// and what it gives is taken in its place. Only once: what it gives has to be the value itself. An argument
// of type Any takes the object as it is.
//
// Depends on: runtime/runtime.h.
#pragma once

#include "runtime/runtime.h"

namespace opyard::python {

// What the object stands for; null, without an exception, where its class has no such method. Throws
// PythonErrorSet with what the method raises. With the GIL held.
Owned find_stand_in(PyObject* object);

}  // namespace opyard::python
