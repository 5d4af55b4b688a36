// gradients/object_state.h: the state of Python objects of a C++ class.
//
// Depends on: bind/extension.h, python/look_up.h.
#pragma once

#include "opyard/detail/bind/extension.h"
#include "opyard/detail/python/look_up.h"

#include <structmember.h>

#include <optional>
#include <vector>

namespace opyard::gradients {

namespace py = pybind11;

inline bool has_dictionary(PyTypeObject* type) { return type->tp_dictoffset != 0; }
inline py::object dictionary_of(PyObject* object) {
  auto found = py::reinterpret_steal<py::object>(PyObject_GenericGetDict(object, nullptr));
  if (!found) throw py::error_already_set();
  return found;
}

inline bool is_named_tuple(PyTypeObject* type) {
  const int has = python::has_attribute(reinterpret_cast<PyObject*>(type), "_fields");
  if (has < 0) throw py::error_already_set();
  return has != 0;
}

// Borrowed; null if nothing was noted at the tensor, which then has no dictionary.
inline PyObject* attributes_of(PyObject* tensor) {
  auto* const bytes = reinterpret_cast<std::byte*>(tensor);
  PyObject* const found = *reinterpret_cast<PyObject**>(bytes + Py_TYPE(tensor)->tp_dictoffset);
  return found == nullptr || PyDict_GET_SIZE(found) == 0 ? nullptr : found;
}

// What a mappingproxy shows: all that it refers to. Runs no code.
inline PyObject* mapping_of(PyObject* proxy) {
  PyObject* mapping = nullptr;
  const auto visit = [](PyObject* referred, void* found) {
    *static_cast<PyObject**>(found) = referred;
    return 0;
  };
  Py_TYPE(proxy)->tp_traverse(proxy, visit, &mapping);
  return mapping;
}

// Whether a type is one of C: no class of Python's has the flag, and static types need not.
inline bool is_of_c(const PyTypeObject* type) {
  return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 ||
         (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) != 0;
}

// Places of the slots of a class of Python, or nothing if its objects have more than slots and
// attributes, as those of classes of C have.
inline std::optional<std::vector<Py_ssize_t>> slots_of(PyTypeObject* type) {
  std::vector<Py_ssize_t> places;
  for (PyTypeObject* each = type; each != nullptr; each = each->tp_base) {
    if ((each->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0) {
      if (each != &PyBaseObject_Type) return std::nullopt;
      break;
    }
    for (const PyMemberDef* one = each->tp_members; one != nullptr && one->name != nullptr; ++one) {
      if (one->type == T_OBJECT_EX) places.push_back(one->offset);
    }
  }
  const std::size_t pointers =
      places.size() + (type->tp_dictoffset > 0 ? 1 : 0) + (type->tp_weaklistoffset > 0 ? 1 : 0);
  if (type->tp_itemsize != 0 ||
      std::size_t(type->tp_basicsize) != sizeof(PyObject) + pointers * sizeof(PyObject*)) {
    return std::nullopt;
  }
  return places;
}

}  // namespace opyard::gradients
