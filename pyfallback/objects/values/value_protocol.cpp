// objects/values/value_protocol.cpp: the value protocol: calling __opyard_value__().
#include "objects/values/value_protocol.h"

#include "opyard/detail/python/clear.h"
#include "opyard/detail/python/stack_end.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

// The classes of the commonest objects, which have no methods of users.
bool is_plain_object(PyObject* object) noexcept {
  return object == Py_None || PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
         PyUnicode_CheckExact(object) || PyBool_Check(object) || PyList_CheckExact(object) ||
         PyTuple_CheckExact(object) || PyDict_CheckExact(object) || PyType_Check(object);
}

}  // namespace

Owned value_by_protocol(PyObject* object) {
  if (is_plain_object(object)) return Owned();
  auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  if (is_stack_at_its_end()) throw PythonErrorSet();  // the method may call the operator again
  const Owned method = Owned::steal(PyObject_GetAttrString(type, "__opyard_value__"));
  if (!method) {
    if (!clear_if(PyExc_AttributeError)) throw PythonErrorSet();
    return Owned();
  }
  return checked(PyObject_CallOneArg(method.get(), object));
}

}  // namespace opyard::python
