// objects/convert/needs_conversion.cpp: which objects a type accepts only as others.
#include "objects/convert/convert.h"

#include <algorithm>

#include "objects/tensor/tensor.h"
#include "objects/values/symbolic.h"

namespace opyard::python {
namespace {

bool any_item(PyObject* sequence, const auto& holds) noexcept {
  PyObject* const* const items = PySequence_Fast_ITEMS(sequence);
  return std::any_of(items, items + PySequence_Fast_GET_SIZE(sequence), holds);
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
      return PyBool_Check(object) || is_tensor(runtime, object);
    case TypeKind::Float:
      return PyLong_Check(object) || is_tensor(runtime, object);
    case TypeKind::SymFloat:
      return PyLong_Check(object) || is_tensor(runtime, object) ||
             is_symbolic(runtime, object, SymKind::Int);
    case TypeKind::Complex:
      return PyLong_Check(object) || PyFloat_Check(object) || is_tensor(runtime, object);
    case TypeKind::Bool:
    case TypeKind::SymBool:
    case TypeKind::Scalar:
      return is_tensor(runtime, object);
    case TypeKind::Optional:
      return needs_conversion(runtime, type.element(), object);
    case TypeKind::List: {
      if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object)) {
        return type.size_hint() != 0 && needs_conversion(runtime, type.element(), object);
      }
      return any_item(
          object, [&](PyObject* item) { return needs_conversion(runtime, type.element(), item); });
    }
    default:
      return false;
  }
}

}  // namespace opyard::python
