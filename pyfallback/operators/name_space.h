// operators/name_space.h: namespace object with cached attributes.
//
// ops and ops.<namespace> are of subclasses of this type. What is in an object's dictionary is
// found by one look into that, before anything else; what is nowhere is asked of the object's
// method _find(name), which may keep it there.
//
// Depends on: runtime/runtime.h.
#pragma once

#include "runtime/runtime.h"

namespace opyard::python {

void add_name_space_type(Runtime& runtime, PyObject* module);

}  // namespace opyard::python
