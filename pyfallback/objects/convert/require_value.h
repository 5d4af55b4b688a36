// objects/convert/require_value.h: to_value() for an object that has to be of the type.
//
// For functions with fixed arguments. Arguments of operators and results of kernels, whose messages
// name operator and schema, are converted in operators/binding.cpp and kernels/results.cpp.
//
// Depends on: runtime/runtime.h, schema/type.h, value/value.h.
#pragma once

#include "runtime/runtime.h"

#include "opyard/schema/type.h"
#include "opyard/value/value.h"

namespace opyard::python {

class ForeignArguments;

// Raises BadArgument, "<what> must be of type <type>, not …", and what the conversion itself
// raises. `arrays` as for to_value(). With the GIL held.
Value require_value(Runtime& runtime, const Type& type, PyObject* object, const char* what,
                    ForeignArguments* arrays = nullptr);

}  // namespace opyard::python
