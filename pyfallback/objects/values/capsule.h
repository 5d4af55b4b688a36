// objects/values/capsule.h: capsules of Python and capsules of values, each as the other.
//
// Whichever side made a capsule keeps owning what it leads to; the other side's capsule holds an
// owner of it. A capsule that comes back is the one that went.
//
// Depends on: runtime/errors.h, value/value.h.
#pragma once

#include "runtime/errors.h"

#include "opyard/value/value.h"

namespace opyard::python {

// The value of a PyCapsule, which it keeps alive. With the GIL held.
Value from_capsule(Runtime& runtime, PyObject* object);

// The PyCapsule of a value of kind Capsule. Raises BadValue for a null pointer, which Python's
// capsules cannot hold. With the GIL held.
Owned to_capsule(Runtime& runtime, const Value& value);

}  // namespace opyard::python
