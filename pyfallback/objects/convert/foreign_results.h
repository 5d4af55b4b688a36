// objects/convert/foreign_results.h: results of operators as arrays of other libraries.
//
// Tensors of a call's result go out as arrays of the type of the first array that came in:
//
//   numpy.ndarray and subclasses   numpy.ndarray
//   types with an exchange table   what the table makes
//   types whose __array_namespace__ or package has a from_dlpack   what that makes
//   others, such as memoryview     Tensor
//   numpy.ma.MaskedArray           refused: its mask would be lost
//
// So do tensors in lists, tuples and dicts, at any depth that the schema allows. A result that is
// an argument of the call is given back as the object that came in. An instance of a subclass of
// Tensor, and a tensor that the other library cannot hold, stay what they are.
//
// Depends on: objects/arrays/foreign_array.h.
#pragma once

#include "runtime/runtime.h"

#include "objects/arrays/foreign_array.h"

namespace opyard::python {

// A result as a Python object, for a call with arrays. With the GIL held. Throws PythonErrorSet,
// and what the other library raises.
Owned give_back(Runtime& runtime, const ForeignArguments& arguments, const Type& type,
                const Value& result);

}  // namespace opyard::python
