// objects/convert/names.cpp: conversion to texts, devices and dtypes.
#include "objects/convert/conversions.h"

#include <fmt/format.h>

#include <string_view>

#include "objects/values/dtype.h"
#include "objects/values/refusals.h"
#include "opyard/detail/python/clear.h"
#include "runtime/errors.h"
#include "runtime/hooks.h"
#include "runtime/types.h"

namespace opyard::python::conversion {
namespace {

// The name of a member of an enum.Enum, whose class has __members__; null for other objects.
Owned member_name(Runtime& runtime, PyObject* object) {
  PyObject* const cls = reinterpret_cast<PyObject*>(Py_TYPE(object));
  if (Py_TYPE(cls) == &PyType_Type) return {};  // an enum has a metaclass
  require_stack_for(runtime);
  if (!Owned::steal(PyObject_GetAttrString(cls, "__members__"))) {
    if (!clear_if(PyExc_AttributeError)) throw_python_error(runtime);
    return {};
  }
  Owned name = require(runtime, PyObject_GetAttrString(object, "name"));
  return PyUnicode_Check(name.get()) ? std::move(name) : Owned();
}

// Looks for what an object names.
template <typename Find>
auto found(const Find& find) {
  try {
    return find();
  } catch (const Error& error) {
    throw NamesNothing(error);
  }
}

// What NumPy and PyTorch call a dtype, and classes of numbers, as the factories take them.
OPYARD_COLD bool to_dtype_by_name(Runtime& runtime, PyObject* object, Value& value) {
  require_stack_for(runtime);
  const Owned dtype = checked(PyObject_CallOneArg(require_hook(runtime, hook::find_dtype), object));
  if (!is_dtype(runtime, dtype.get())) return false;
  value = std::int64_t(reinterpret_cast<DTypeObject*>(dtype.get())->dtype);
  return true;
}

// The name of a dtype as a text, which NumPy takes for one.
OPYARD_COLD void refuse_name_of_dtype(PyObject* object) {
  const char* const text = PyUnicode_AsUTF8(object);
  if (text == nullptr) clear_or_report(PyExc_UnicodeEncodeError);
  if (text == nullptr || !find_dtype(text).has_value()) return;
  throw NamesNothing(
      Error(ErrorKind::BadArgument, fmt::format("'{0}' is a text; write opyard.{0}", text)));
}

}  // namespace

bool to_string(Runtime& runtime, PyObject* object, Value& value) {
  if (!PyUnicode_Check(object)) {
    const Owned name = member_name(runtime, object);
    return name && to_string(runtime, name.get(), value);
  }
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(object, &size);
  if (text == nullptr) {
    if (!clear_if(PyExc_UnicodeEncodeError)) throw_python_error(runtime);
    throw NamesNothing(Error(ErrorKind::BadArgument,
                             "a text with half a surrogate pair has no form in UTF-8, and cannot "
                             "be passed on"));
  }
  value = Value(std::string_view(text, std::size_t(size)));
  return true;
}

bool to_device(Runtime& runtime, PyObject* object, Value& value) {
  if (is_device(runtime, object)) {
    value = reinterpret_cast<DeviceObject*>(object)->device;
    return true;
  }
  Value text;
  if (!to_string(runtime, object, text)) return false;
  value = found([&] { return parse_device(text.to_string_view()); });
  return true;
}

bool to_dtype(Runtime& runtime, PyObject* object, Value& value) {
  if (is_dtype(runtime, object)) {
    value = std::int64_t(reinterpret_cast<DTypeObject*>(object)->dtype);
    return true;
  }
  const std::string_view name = Py_TYPE(object)->tp_name;
  if (PyType_Check(object) || name.starts_with("numpy.") || name == "torch.dtype") {
    return to_dtype_by_name(runtime, object, value);
  }
  if (PyUnicode_Check(object)) refuse_name_of_dtype(object);
  if (!PyLong_Check(object) || PyBool_Check(object)) return false;
  const std::int64_t number = int_of(object);
  value = std::int64_t(found([&] { return require_dtype(number); }));
  return true;
}

}  // namespace opyard::python::conversion
