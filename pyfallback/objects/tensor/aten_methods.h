// objects/tensor/aten_methods.h: the aten operators that are methods of Tensor.
//
// t.relu is ops.aten.relu bound to t, and Tensor.relu is ops.aten.relu. Names that begin with '_'
// are never operators: Python, NumPy and others probe for many of them, and must not load the
// operators by that.
//
// [In the class] CPython calls a method without making a bound one first, and caches where it was
// found, only if the class looks attributes up as every class does and has the name. So with the
// first method that is an operator the names of all come into the class, as descriptors that find
// their operator when they are used; from then on Tensor looks up as every class does. When a name
// of aten comes later it looks here again until it has that, too. To say so is one store: operators
// are defined on any thread, with the GIL or without.
//
// A class behind Tensor, as a mixin's, that has the name of an operator goes before it; so
// subclasses always look here.
//
// Depends on: objects/tensor/aten.h.
#pragma once

#include "runtime/runtime.h"

namespace opyard::python {

// Whether all names of aten are in the class, so that what it has not is no operator.
bool has_all_aten_methods(const Runtime& runtime) noexcept;
// Puts those into the class that are missing; for who found a method that is not there. Throws
// PythonErrorSet.
void complete_aten_methods(Runtime& runtime);
// The same, if that was done once and a name came since.
void update_aten_methods(Runtime& runtime);
// A name was deleted from the class: it may be an operator's.
void uncover_aten_method(Runtime& runtime, PyObject* name);
// With the module's end.
void end_aten_methods(Runtime& runtime) noexcept;

// What a class behind Tensor has under this name, if Tensor itself has only an operator; bound to
// `object`, which is a tensor of the class `type` or the class itself. Else null. Throws
// PythonErrorSet.
Owned find_behind_tensor(Runtime& runtime, PyTypeObject* type, PyObject* object, PyObject* name);

}  // namespace opyard::python
