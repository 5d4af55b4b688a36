// objects/convert/needs_conversion.cpp: objects that a type accepts after conversion.
//
// A Tensor without dimensions is a number only if no overload takes it as a Tensor, and so is an
// array of another library.
#include "objects/convert/conversions.h"

#include <algorithm>

#include "objects/arrays/foreign_kind.h"
#include "objects/arrays/numpy_types.h"
#include "objects/convert/convert.h"
#include "objects/tensor/tensor.h"
#include "objects/values/symbolic.h"

namespace opyard::python {
namespace conversion {
namespace {

bool any_item(PyObject* sequence, const auto& holds) noexcept {
  PyObject* const* const items = PySequence_Fast_ITEMS(sequence);
  return std::any_of(items, items + PySequence_Fast_GET_SIZE(sequence), holds);
}

// Whether the type offers elements to others, as arrays and Tensors do. Runs no code of Python's.
bool is_array(const Runtime& runtime, PyObject* object) noexcept {
  if (PyLong_Check(object) || PyFloat_CheckExact(object) || object == Py_None) return false;
  if (is_tensor(runtime, object)) return true;
  PyTypeObject* const type = Py_TYPE(object);
  const bool offers = PyObject_CheckBuffer(object) != 0 ||
                      lookup_on_type(type, runtime.foreign->method_name) != nullptr ||
                      lookup_on_type(type, runtime.foreign->table_name) != nullptr;
  return offers && !is_of_numpy(type, "numpy.generic");
}

}  // namespace

bool changes_to_int(const Runtime& runtime, const Type&, PyObject* object) noexcept {
  return PyBool_Check(object) || is_array(runtime, object);
}

bool changes_to_float(const Runtime& runtime, const Type&, PyObject* object) noexcept {
  return PyLong_Check(object) || is_array(runtime, object);
}

bool changes_to_sym_float(const Runtime& runtime, const Type& type, PyObject* object) noexcept {
  return changes_to_float(runtime, type, object) || is_symbolic(runtime, object, SymKind::Int);
}

bool changes_to_complex(const Runtime& runtime, const Type&, PyObject* object) noexcept {
  return PyLong_Check(object) || PyFloat_Check(object) || is_array(runtime, object);
}

bool changes_to_other_number(const Runtime& runtime, const Type&, PyObject* object) noexcept {
  return is_array(runtime, object);
}

bool changes_to_optional(const Runtime& runtime, const Type& type, PyObject* object) noexcept {
  return needs_conversion(runtime, type.element(), object);
}

bool changes_to_list(const Runtime& runtime, const Type& type, PyObject* object) noexcept {
  if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object)) {
    return type.size_hint() != 0 && (is_tensor(runtime, object) || !is_array(runtime, object)) &&
           needs_conversion(runtime, type.element(), object);
  }
  return any_item(object,
                  [&](PyObject* item) { return needs_conversion(runtime, type.element(), item); });
}

}  // namespace conversion

bool may_need_conversion(const Type& type) noexcept {
  if (type.kind() == TypeKind::Optional || type.kind() == TypeKind::List) {
    return may_need_conversion(type.element());
  }
  return conversion::find_changes(type) != nullptr;
}

bool needs_conversion(const Runtime& runtime, const Type& type, PyObject* object) noexcept {
  conversion::Changes* const changes = conversion::find_changes(type);
  return changes != nullptr && changes(runtime, type, object);
}

bool may_run_code(const Runtime& runtime, PyObject* object) noexcept {
  PyTypeObject* const type = Py_TYPE(object);
  if (type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type ||
      type == &PyUnicode_Type || object == Py_None || is_tensor(runtime, object)) {
    return false;
  }
  if (type != &PyList_Type && type != &PyTuple_Type) return true;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    PyObject* const item = PySequence_Fast_GET_ITEM(object, i);
    const bool is_nested = PyList_CheckExact(item) || PyTuple_CheckExact(item);
    if (is_nested || may_run_code(runtime, item)) return true;
  }
  return false;
}

}  // namespace opyard::python
