// objects/values/dtype.h: the Python objects opyard.float32, …, and opyard.device.
//
// There is one dtype object for each element type, so `is` compares them.
//
// Depends on: runtime/runtime.h, tensor/{dtype,device}.h.
#pragma once

#include "runtime/runtime.h"

#include "opyard/tensor/device.h"
#include "opyard/tensor/dtype.h"

namespace opyard::python {

struct DTypeObject {
  PyObject_HEAD DType dtype;
};

struct DeviceObject {
  PyObject_HEAD Device device;
};

inline bool is_dtype(const Runtime& runtime, PyObject* object) noexcept {
  return Py_TYPE(object) == runtime.dtype_type;
}
inline bool is_device(const Runtime& runtime, PyObject* object) noexcept {
  return Py_TYPE(object) == runtime.device_type;
}

Owned wrap(Runtime& runtime, DType dtype);
Owned wrap(Runtime& runtime, Device device);

// Make the types and put them into the runtime and the module. Throw PythonErrorSet.
void add_dtype_type(Runtime& runtime, PyObject* module);
void add_device_type(Runtime& runtime, PyObject* module);

}  // namespace opyard::python
