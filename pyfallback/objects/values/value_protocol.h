// objects/values/value_protocol.h: the value protocol: classes that say which value their objects mean.
//
// If an argument's type does not accept an object, and the object's class has a method
// __opyard_value__(), the method's result is converted instead. Only once: the result has to be the
// value itself. An argument of type Any takes the object as it is.
//
// Depends on: runtime/runtime.h.
#pragma once

#include "runtime/runtime.h"

namespace opyard::python {

// The result of the object's __opyard_value__(); null, without an exception, if its class has none.
// Throws PythonErrorSet with what the method raises. With the GIL held.
Owned value_by_protocol(PyObject* object);

}  // namespace opyard::python
