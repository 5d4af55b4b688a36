// objects/convert/containers.cpp: conversion to optionals, lists, tuples, dicts and unions.
#include "objects/convert/conversions.h"

#include <algorithm>
#include <optional>
#include <string>

#include "objects/arrays/foreign_array.h"
#include "objects/convert/convert.h"
#include "objects/tensor/tensor.h"
#include "runtime/errors.h"
#include "runtime/hooks.h"

#include "opyard/detail/python/clear.h"
#include "opyard/detail/value/dict_object.h"
#include "opyard/schema/parse.h"

namespace opyard::python::conversion {
namespace {

bool is_sequence(const Runtime& runtime, PyObject* object) {
  if (PyList_Check(object) || PyTuple_Check(object)) return true;
  return PySequence_Check(object) != 0 && !PyUnicode_Check(object) && !PyBytes_Check(object) &&
         !PyByteArray_Check(object) && !PyDict_Check(object) && !is_tensor(runtime, object);
}

// Converts an element of a container; `place` gives its place there.
template <typename Place>
void to_element(Runtime& runtime, const Type& type, PyObject* item, Value& value,
                ForeignArguments* arrays, const Place& place) {
  try {
    if (to_value(runtime, type, item, value, arrays)) return;
  } catch (RefusedArray& refused) {
    if (refused.place.empty()) refused.type = Py_TYPE(item)->tp_name;
    refused.place.insert(0, place());
    throw;
  } catch (PastRange& past) {
    past.place.insert(0, place());
    throw;
  } catch (WrongElement& element) {
    element.place.insert(0, place());
    throw;
  }
  throw WrongElement{place(), Py_TYPE(item)->tp_name, to_string(type)};
}

std::string index_place(std::size_t index) { return "[" + std::to_string(index) + "]"; }

// The fields of an instance of a dataclass as a tuple; null for other objects.
Owned fields_of_dataclass(Runtime& runtime, PyObject* object) {
  PyObject* const cls = reinterpret_cast<PyObject*>(Py_TYPE(object));
  if (PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE) == 0) return {};
  require_stack_for(runtime);
  if (!Owned::steal(PyObject_GetAttrString(cls, "__dataclass_fields__"))) {
    if (!clear_if(PyExc_AttributeError)) throw_python_error(runtime);
    return {};
  }
  Owned fields =
      require(runtime, PyObject_CallOneArg(require_hook(runtime, hook::field_values), object));
  return PyTuple_Check(fields.get()) ? std::move(fields) : Owned();
}

bool is_tensor_type(const Type& type) {
  return type.kind() == TypeKind::Tensor ||
         (type.kind() == TypeKind::Optional && type.element().kind() == TypeKind::Tensor);
}

// int[2] takes 3 for [3, 3].
bool to_equal_items(Runtime& runtime, const Type& type, PyObject* object, Value& value,
                    ForeignArguments* arrays) {
  Value one;
  if (type.size_hint() == 0 || !convert_itself(runtime, type.element(), object, one, arrays)) {
    return false;
  }
  // Longer ones are given as lists, as in a schema, whose text may ask for gigabytes.
  if (std::uint64_t(type.size_hint()) > SchemaLimits().items) return false;
  value = Value::list(std::vector<Value>(std::size_t(type.size_hint()), one));
  return true;
}

}  // namespace

bool to_optional(Runtime& runtime, const Type& type, PyObject* object, Value& value,
                 ForeignArguments* arrays) {
  value = Value();
  return object == Py_None || convert_itself(runtime, type.element(), object, value, arrays);
}

bool to_list(Runtime& runtime, const Type& type, PyObject* object, Value& value,
             ForeignArguments* arrays) {
  const Type& element = type.element();
  // An array is one tensor, though it is a sequence of its rows as well.
  const bool is_one = PyList_CheckExact(object) == 0 && is_tensor_type(element) &&
                      is_foreign_array(runtime, object);
  if (is_one || !is_sequence(runtime, object)) {
    return to_equal_items(runtime, type, object, value, arrays);
  }
  require_stack_for(runtime);
  const Owned items = Owned::steal(PySequence_Fast(object, "not a sequence"));
  if (!items) {
    // An array without dimensions looks like a sequence.
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw_python_error(runtime);
    Owned refusal = Owned::steal(take_exception());
    if (!is_foreign_array(runtime, object)) {
      restore_exception(refusal.release());
      throw_python_error(runtime);
    }
    return to_equal_items(runtime, type, object, value, arrays);
  }
  std::vector<Value> values;
  values.reserve(std::size_t(PySequence_Fast_GET_SIZE(items.get())));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    // An item is held while it is converted: __index__ may change the list.
    const Owned item = Owned::share(PySequence_Fast_GET_ITEM(items.get(), i));
    to_element(runtime, element, item.get(), values.emplace_back(), arrays,
               [&] { return index_place(std::size_t(i)); });
  }
  value = Value::list(std::move(values));
  return true;
}

bool to_tuple(Runtime& runtime, const Type& type, PyObject* object, Value& value,
              ForeignArguments* arrays) {
  const Owned fields = PyTuple_Check(object) ? Owned() : fields_of_dataclass(runtime, object);
  if (fields) object = fields.get();
  if (!PyTuple_Check(object) || std::size_t(PyTuple_GET_SIZE(object)) != type.elements().size()) {
    return false;
  }
  std::vector<Value> values(type.elements().size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    PyObject* const item = PyTuple_GET_ITEM(object, Py_ssize_t(i));
    to_element(runtime, *type.elements()[i], item, values[i], arrays,
               [&] { return index_place(i); });
  }
  value = Value::tuple(std::move(values));
  return true;
}

bool to_dict(Runtime& runtime, const Type& type, PyObject* object, Value& value,
             ForeignArguments* arrays) {
  if (!PyDict_Check(object)) return false;
  // A list of its own: a conversion may run Python code that changes the dict.
  const Owned items = require(runtime, PyDict_Items(object));
  auto dict = make_counted<DictObject>();
  dict->reserve(std::size_t(PyList_GET_SIZE(items.get())));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i) {
    PyObject* const item = PyList_GET_ITEM(items.get(), i);
    Value key, element;
    const auto place = [&] { return index_place(std::size_t(i)); };
    to_element(runtime, *type.elements()[0], PyTuple_GET_ITEM(item, 0), key, arrays,
               [&] { return ".keys()" + place(); });
    to_element(runtime, *type.elements()[1], PyTuple_GET_ITEM(item, 1), element, arrays,
               [&] { return ".values()" + place(); });
    dict->insert_or_assign(std::move(key), std::move(element));
  }
  value = Value(std::move(dict));
  return true;
}

// The first member that takes the object.
bool to_union(Runtime& runtime, const Type& type, PyObject* object, Value& value,
              ForeignArguments* arrays) {
  std::optional<PastRange> past;
  std::optional<NamesNothing> names_nothing;
  std::optional<RefusedArray> refused;
  for (const TypePtr& member : type.elements()) {
    try {
      if (convert_itself(runtime, *member, object, value, arrays)) return true;
    } catch (const PastRange& range) {
      past = range;  // a wider member may follow
    } catch (const WrongElement&) {
      // Another member may take it.
    } catch (const RefusedArray& error) {
      refused = error;
    } catch (const NamesNothing& error) {
      names_nothing = error;
    }
  }
  if (refused) throw *refused;
  if (names_nothing) throw *names_nothing;
  if (past) throw *past;
  return false;
}

}  // namespace opyard::python::conversion
