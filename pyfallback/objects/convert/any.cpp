// objects/convert/any.cpp: conversion of Python objects to Any.
#include "objects/convert/conversions.h"

#include <optional>

#include "objects/convert/future.h"
#include "objects/tensor/tensor.h"
#include "objects/values/capsule.h"
#include "objects/values/dtype.h"
#include "objects/values/integer.h"
#include "objects/values/recursion.h"
#include "opyard/detail/value/dict_object.h"

namespace opyard::python::conversion {
namespace {

// False if a key is none of ours.
bool to_any_dict(Runtime& runtime, PyObject* object, Value& value) {
  auto dict = make_counted<DictObject>();
  dict->reserve(std::size_t(PyDict_GET_SIZE(object)));
  PyObject* key = nullptr;
  PyObject* element = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(object, &at, &key, &element) != 0;) {
    Value made_key, made_element;
    to_any(runtime, key, made_key);  // runs no Python code, so the dict stays as it is
    if (!is_key(made_key)) return false;
    to_any(runtime, element, made_element);
    dict->insert_or_assign(std::move(made_key), std::move(made_element));
  }
  value = Value(std::move(dict));
  return true;
}

Value itself(Runtime& runtime, PyObject* object) {
  Py_INCREF(object);
  return Value(make_counted<ForeignObject>(runtime.tag, object));
}

}  // namespace

bool to_any(Runtime& runtime, PyObject* object, Value& value) {
  if (object == Py_None) {
    value = Value();
  } else if (is_tensor(runtime, object)) {
    value = tensor_unchecked(object);
  } else if (PyBool_Check(object)) {
    value = object == Py_True;
  } else if (const auto integer = PyLong_CheckExact(object) ? find_int64(object) : std::nullopt) {
    value = *integer;
  } else if (PyFloat_CheckExact(object)) {
    value = PyFloat_AS_DOUBLE(object);
  } else if (PyComplex_CheckExact(object)) {
    to_complex(runtime, object, value);
  } else if (PyUnicode_CheckExact(object)) {
    to_string(runtime, object, value);
  } else if (is_device(runtime, object)) {
    to_device(runtime, object, value);
  } else if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) {
    const RecursionLimit limit(runtime, " while converting a list");  // it may contain itself
    std::vector<Value> values(std::size_t(PySequence_Fast_GET_SIZE(object)));
    for (std::size_t i = 0; i < values.size(); ++i) {
      to_any(runtime, PySequence_Fast_GET_ITEM(object, Py_ssize_t(i)), values[i]);
    }
    value = PyList_CheckExact(object) ? Value::list(std::move(values))
                                      : Value::tuple(std::move(values));
  } else if (PyCapsule_CheckExact(object)) {
    value = from_capsule(runtime, object);
  } else if (is_future(runtime, object)) {
    value = Value(future_of(object));
  } else if (PyDict_CheckExact(object)) {
    const RecursionLimit limit(runtime, " while converting a dict");
    if (!to_any_dict(runtime, object, value)) value = itself(runtime, object);
  } else {
    value = itself(runtime, object);
  }
  return true;
}

}  // namespace opyard::python::conversion
