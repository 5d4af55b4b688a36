// objects/convert/convert.h: values to Python objects and back, as a schema type says.
//
//   schema type   from Python                                  to Python
//   Tensor        Tensor, an array of another library (objects/arrays/foreign_array.h); None is the undefined tensor
//                                                              Tensor, or None
//   int           int, bool, __index__, 0-dim integer Tensor   int
//   float         float, int, bool                             float
//   bool          bool                                         bool
//   str           str                                          str
//   complex       complex, float, int, 0-dim Tensor            complex
//   Scalar        bool, int, float, complex, 0-dim Tensor      bool, int, float or complex
//   Device        device, str                                  device
//   ScalarType    dtype                                        dtype
//   T?            T or None                                    T or None
//   T[], T[N]     list, tuple, any sequence; one T for T[N]    list
//   Dict(K, V)    dict                                         dict
//   Capsule       PyCapsule                                    PyCapsule
//   Future(T)     futures.Future                               the same
//   SymInt, SymFloat, SymBool   SymInt, SymFloat, SymBool, and as int, float, bool
//   Any           any of the above, else the object itself     what it is
//   all but Any   an object with __opyard_value__() that gives one of these (objects/values/value_protocol.h)
//
// Storages, generators, streams, and the classes and enums of C++ users have no object in Python:
// to_value() accepts none and to_python() raises Unsupported.
//
// Numbers have a limit: 64 bits for int. An int past it is itself where Any is wanted.
//
// Depends on: objects/values/refusals.h, runtime/runtime.h, schema/type.h.
#pragma once

#include "runtime/runtime.h"

#include "objects/values/refusals.h"
#include "opyard/schema/type.h"
#include "opyard/value/value.h"

namespace opyard::python {

class ForeignArguments;

// Converts `object` to a value of this type; false if the type does not accept it, and then
// no exception is set. Throws what objects/values/refusals.h lists, and what the conversion itself
// raises (an __index__ that does). `arrays` notes which arrays of other libraries were met; null
// where no one wants to know. With the GIL held.
bool to_value(Runtime& runtime, const Type& type, PyObject* object, Value& value,
              ForeignArguments* arrays = nullptr);

// Whether an object that to_value() accepts for this type would become another one: an int or a
// bool where a float is wanted, a bool for an int, a Tensor for a number. Of an object that is not
// accepted it says nothing. Runs no code of Python's. With the GIL held.
bool needs_conversion(const Runtime& runtime, const Type& type, PyObject* object) noexcept;
// Whether there are such objects for this type.
bool may_need_conversion(const Type& type) noexcept;

// Whether converting an object may run code of Python's, as __index__ or __dlpack__.
bool may_run_code(const Runtime& runtime, PyObject* object) noexcept;

// The Python object for a value of this type. With the GIL held.
Owned to_python(Runtime& runtime, const Type& type, const Value& value);

}  // namespace opyard::python
