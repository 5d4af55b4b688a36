// objects/values/key_set.h: opyard.dispatch.DispatchKeySet, and keys given as names or numbers.
//
// DispatchKey itself is an IntEnum that the package makes from _C.dispatch_keys(); members come
// back through the hook "DispatchKey".
//
// Depends on: runtime/runtime.h, keys/dispatch_key_set.h.
#pragma once

#include "runtime/runtime.h"

#include "opyard/keys/dispatch_key_set.h"

namespace opyard::python {

struct KeySetObject {
  PyObject_HEAD DispatchKeySet keys;
};

inline bool is_key_set(const Runtime& runtime, PyObject* object) noexcept {
  return Py_TYPE(object) == runtime.key_set_type;
}

// A DispatchKey member, its number, or its name. Throws BadArgument, NotFound.
DispatchKey to_dispatch_key(PyObject* object);
// A DispatchKeySet, or one key.
DispatchKeySet to_key_set(const Runtime& runtime, PyObject* object);

Owned wrap(Runtime& runtime, DispatchKey key);
Owned wrap(Runtime& runtime, DispatchKeySet keys);

void add_key_set_type(Runtime& runtime, PyObject* module);

}  // namespace opyard::python
