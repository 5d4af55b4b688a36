// objects/arrays/numpy_types.h: NumPy types, recognised by name.
//
// Depends on: python/python.h, base/error.h.
#pragma once

#include "opyard/detail/python/python.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "opyard/base/error.h"

namespace opyard::python {

// Whether a type or a base of it is the one of NumPy with this name.
inline bool is_of_numpy(PyTypeObject* type, std::string_view name) noexcept {
  PyObject* const bases = type->tp_mro;
  if (bases == nullptr) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(bases); ++i) {
    if (reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(bases, i))->tp_name == name) return true;
  }
  return false;
}

// numpy.ndarray itself, whose buffer and __dlpack__ no one can have changed.
inline bool is_numpys_own(PyTypeObject* type) noexcept {
  return PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) == 0 &&
         std::string_view(type->tp_name) == "numpy.ndarray" && type->tp_as_buffer != nullptr;
}

// A scalar of NumPy of a class whose name begins with one of these: {"int", "uint"}, {"bool"}.
inline bool is_numpy_scalar(PyObject* object,
                            std::initializer_list<std::string_view> kinds) noexcept {
  constexpr std::string_view kPrefix = "numpy.";
  std::string_view name = Py_TYPE(object)->tp_name;
  if (!name.starts_with(kPrefix)) return false;
  name.remove_prefix(kPrefix.size());
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](std::string_view kind) { return name.starts_with(kind); });
}

// Whether the arrays of a type have a mask: numpy.ma.MaskedArray and its subclasses.
inline bool is_masked(PyTypeObject* type) noexcept {
  return is_of_numpy(type, "MaskedArray") && is_of_numpy(type, "numpy.ndarray");
}
inline constexpr const char* kWhyNotMasked =
    "the array is masked, and tensors have no masks; pass array.filled(...), or array.data for all "
    "elements as they are";
// Raises BadArgument, beginning with `what`, for a masked array.
inline void require_unmasked(PyObject* object, const char* what) {
  if (!is_masked(Py_TYPE(object))) return;
  fail(ErrorKind::BadArgument, std::string(what) + ": " + kWhyNotMasked);
}

}  // namespace opyard::python
