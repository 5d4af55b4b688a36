// objects/convert/needs_conversion.cpp: objects that a type accepts after conversion.
//
// A Tensor without dimensions is a number only if no overload takes it as a Tensor, and so is an
// array of another library.
#include "objects/convert/convert.h"

#include <algorithm>

#include "objects/arrays/foreign_state.h"
#include "objects/arrays/numpy_types.h"
#include "objects/tensor/tensor.h"
#include "objects/values/symbolic.h"

namespace opyard::python {
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

bool may_need_conversion(const Type& type) noexcept {
  switch (type.kind()) {
    case TypeKind::Int:
    case TypeKind::SymInt:
    case TypeKind::Float:
    case TypeKind::SymFloat:
    case TypeKind::Bool:
    case TypeKind::SymBool:
    case TypeKind::Complex:
    case TypeKind::Scalar:
      return true;
    case TypeKind::Optional:
    case TypeKind::List:
      return may_need_conversion(type.element());
    default:
      return false;
  }
}

bool needs_conversion(const Runtime& runtime, const Type& type, PyObject* object) noexcept {
  switch (type.kind()) {
    case TypeKind::Int:
    case TypeKind::SymInt:
      return PyBool_Check(object) || is_array(runtime, object);
    case TypeKind::Float:
      return PyLong_Check(object) || is_array(runtime, object);
    case TypeKind::SymFloat:
      return PyLong_Check(object) || is_array(runtime, object) ||
             is_symbolic(runtime, object, SymKind::Int);
    case TypeKind::Complex:
      return PyLong_Check(object) || PyFloat_Check(object) || is_array(runtime, object);
    case TypeKind::Bool:
    case TypeKind::SymBool:
    case TypeKind::Scalar:
      return is_array(runtime, object);
    case TypeKind::Optional:
      return needs_conversion(runtime, type.element(), object);
    case TypeKind::List: {
      if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object)) {
        return type.size_hint() != 0 &&
               (is_tensor(runtime, object) || !is_array(runtime, object)) &&
               needs_conversion(runtime, type.element(), object);
      }
      return any_item(
          object, [&](PyObject* item) { return needs_conversion(runtime, type.element(), item); });
    }
    default:
      return false;
  }
}

}  // namespace opyard::python
