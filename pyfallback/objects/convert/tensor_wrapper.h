// objects/convert/tensor_wrapper.h: the method Tensor.make_wrapper_subclass().
//
// Its arguments are converted as those of operators are, which the room of the type itself does not
// know: so the method is added to the type when that is made.
//
// Depends on: runtime/runtime.h.
#pragma once

#include "runtime/runtime.h"

namespace opyard::python {

// Adds the method to the type, which exists. With the GIL held; throws PythonErrorSet.
void add_wrapper_method(Runtime& runtime);

}  // namespace opyard::python
