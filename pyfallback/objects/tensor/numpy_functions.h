// objects/tensor/numpy_functions.h: tensors as arrays of NumPy, by the functions that it offers to C.
//
// NumPy has a table of functions, whose places have been the same since its first release, and
// hands it out in a capsule. Going through it costs a fifth of numpy.asarray(). Where NumPy is
// absent, or its table is of a kind that is not known here, nothing is made, and the caller asks
// numpy.asarray() instead. Everything with the GIL held.
//
// Depends on: runtime/runtime.h.
#pragma once

#include "runtime/runtime.h"

namespace opyard::python {

// An array of the type numpy.ndarray on the memory of a wrapper's tensor, which becomes its base;
// null if none can be made this way. The tensor can be read, and its dtype is one that has a
// buffer format. Throws PythonErrorSet.
Owned find_numpy_array(Runtime& runtime, PyObject* wrapper);

}  // namespace opyard::python
