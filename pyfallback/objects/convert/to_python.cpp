// objects/convert/to_python.cpp: conversion of values to Python objects.
#include "objects/values/capsule.h"

#include <string>

#include "objects/convert/convert.h"
#include "objects/convert/future.h"
#include "objects/tensor/tensor.h"
#include "objects/values/dtype.h"
#include "objects/values/generator.h"
#include "objects/values/recursion.h"
#include "objects/values/symbolic.h"
#include "runtime/errors.h"

#include "opyard/detail/value/dict_object.h"

namespace opyard::python {
namespace {

Owned items_to_python(Runtime& runtime, const Type& type, const std::vector<Value>& items,
                      bool as_tuple) {
  const RecursionLimit limit(runtime, " while converting a list");  // it may contain itself
  const auto size = Py_ssize_t(items.size());
  Owned sequence = require(runtime, as_tuple ? PyTuple_New(size) : PyList_New(size));
  const TypePtr any = base_type(TypeKind::Any);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Type* element = any.get();
    if (type.kind() == TypeKind::List) element = &type.element();
    if (type.kind() == TypeKind::Tuple && i < type.elements().size()) {
      element = type.elements()[i].get();
    }
    PyObject* const item = to_python(runtime, *element, items[i]).release();
    if (as_tuple) {
      PyTuple_SET_ITEM(sequence.get(), Py_ssize_t(i), item);
    } else {
      PyList_SET_ITEM(sequence.get(), Py_ssize_t(i), item);
    }
  }
  return sequence;
}

Owned dict_to_python(Runtime& runtime, const Type& type, const DictObject& from) {
  const RecursionLimit limit(runtime, " while converting a dict");
  const TypePtr any = base_type(TypeKind::Any);
  const bool typed = type.kind() == TypeKind::Dict;
  const Type& key_type = typed ? *type.elements()[0] : *any;
  const Type& element_type = typed ? *type.elements()[1] : *any;
  Owned dict = require(runtime, PyDict_New());
  for (std::size_t at = from.next(0); at != DictObject::kEnd; at = from.next(at + 1)) {
    const Owned key = to_python(runtime, key_type, from.key_at(at));
    const Owned element = to_python(runtime, element_type, from.value_at(at));
    if (PyDict_SetItem(dict.get(), key.get(), element.get()) != 0) throw_python_error(runtime);
  }
  return dict;
}

Owned foreign_to_python(Runtime& runtime, const ForeignObject& object) {
  if (object.interpreter != runtime.tag) {
    fail(ErrorKind::InterpreterGone, std::string("an object of interpreter ") +
                                         object.interpreter->name() +
                                         " cannot be used in interpreter " + runtime.tag->name());
  }
  return Owned::share(static_cast<PyObject*>(object.object));
}

}  // namespace

Owned to_python(Runtime& runtime, const Type& type, const Value& value) {
  switch (value.kind()) {
    case Kind::None:
      return Owned::share(Py_None);
    case Kind::Bool:
      return Owned::share(value.bool_unchecked() ? Py_True : Py_False);
    case Kind::Int:
      if (type.kind() == TypeKind::ScalarType) {
        return wrap(runtime, require_dtype(value.int_unchecked()));
      }
      if (type.kind() == TypeKind::Optional) return to_python(runtime, type.element(), value);
      return require(runtime, PyLong_FromLongLong(value.int_unchecked()));
    case Kind::Double:
      return require(runtime, PyFloat_FromDouble(value.double_unchecked()));
    case Kind::Complex:
      return require(runtime,
                     PyComplex_FromDoubles(value.to_complex().real(), value.to_complex().imag()));
    case Kind::Device:
      return wrap(runtime, value.device_unchecked());
    case Kind::Tensor:
      return wrap(runtime, value.tensor_unchecked());
    case Kind::String: {
      const std::string_view text = value.to_string_view();
      return require(runtime, PyUnicode_FromStringAndSize(text.data(), Py_ssize_t(text.size())));
    }
    case Kind::List:
      if (type.kind() == TypeKind::Optional) return to_python(runtime, type.element(), value);
      return items_to_python(runtime, type, value.items_unchecked(), false);
    case Kind::Tuple:
      if (type.kind() == TypeKind::Optional) return to_python(runtime, type.element(), value);
      return items_to_python(runtime, type, value.items_unchecked(), true);
    case Kind::Dict:
      if (type.kind() == TypeKind::Optional) return to_python(runtime, type.element(), value);
      return dict_to_python(runtime, type, value.to_dict());
    case Kind::Capsule:
      return to_capsule(runtime, value);
    case Kind::Future:
      return wrap(runtime, CountedPtr<FutureObject>::share(&value.to_future()));
    case Kind::PyObject:
      return foreign_to_python(runtime, value.to_foreign());
    case Kind::SymInt:
      return wrap(runtime, value.to_sym_int());
    case Kind::SymFloat:
      return wrap(runtime, value.to_sym_float());
    case Kind::SymBool:
      return wrap(runtime, value.to_sym_bool());
    case Kind::Generator:
      return wrap(runtime, CountedPtr<Generator>::share(&value.to_generator()));
    case Kind::Storage:
    case Kind::Object:
    case Kind::Stream:
    case Kind::Enum:
      break;
  }
  fail(ErrorKind::Unsupported, std::string("a value of kind ") + name_of(value.kind()) +
                                   " has no object in Python in this version; it can only be "
                                   "passed between operators in C++");
}

}  // namespace opyard::python
