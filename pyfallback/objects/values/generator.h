// objects/values/generator.h: generators of C++ in Python.
//
// A generator is in a capsule of its own name, which owns it, and the capsule in an
// opyard.Generator. That class is in Python (opyard/_core/generator.py) and gives its capsule by
// the value protocol: objects/values/value_protocol.h.
//
// Depends on: runtime/runtime.h, value/generator.h.
#pragma once

#include "runtime/runtime.h"

#include "opyard/value/generator.h"

namespace opyard::python {

// The generator of a capsule; null for any other object. With the GIL held, as the next one.
CountedPtr<Generator> find_generator(PyObject* object) noexcept;

// The opyard.Generator of a generator: a new object, which equals others of the same one.
Owned wrap(Runtime& runtime, CountedPtr<Generator> generator);

}  // namespace opyard::python
