// objects/convert/convert.cpp: Python objects to values, one conversion a type.
#include "objects/convert/convert.h"

#include <algorithm>
#include <optional>
#include <string>

#include "objects/arrays/foreign_array.h"
#include "objects/arrays/numpy_types.h"
#include "objects/convert/future.h"
#include "objects/tensor/tensor.h"
#include "objects/tensor/traced_read.h"
#include "objects/values/capsule.h"
#include "objects/values/dtype.h"
#include "objects/values/element.h"
#include "objects/values/generator.h"
#include "objects/values/integer.h"
#include "objects/values/recursion.h"
#include "objects/values/symbolic.h"
#include "objects/values/value_protocol.h"
#include "opyard/detail/python/clear.h"
#include "opyard/detail/python/stack_end.h"
#include "runtime/errors.h"
#include "runtime/hooks.h"
#include "runtime/types.h"

#include "opyard/detail/registry/gradient_slot.h"
#include "opyard/detail/tensor/gradient_functions.h"
#include "opyard/detail/value/dict_object.h"
#include "opyard/schema/parse.h"

namespace opyard::python {
namespace {

// A 64-bit integer out of a Python int. Throws PastRange.
std::int64_t int_of(PyObject* integer) {
  if (const std::optional<std::int64_t> value = find_int64(integer)) return *value;
  throw PastRange{kInt64Range};
}

// A number carries no gradient: one that is wanted would be lost without a word.
void refuse_lost_gradient(const Tensor& tensor) {
  if (!gradients_enabled() || !detail::may_need_gradient(*tensor.impl())) return;
  const auto* const functions = detail::gradient_functions.load(std::memory_order_acquire);
  if (functions == nullptr || !functions->needs(tensor)) return;
  throw LostGradient(Error(ErrorKind::BadArgument,
                           "it requires a gradient, which a number does not carry: give its "
                           "detach() or item()"));
}

// The only element of a tensor without dimensions on the CPU. A trace is told: the number is one of
// this run.
bool is_zero_dim_number(Runtime& runtime, PyObject* object, Value& value) {
  if (!is_tensor(runtime, object)) return false;
  const Tensor& tensor = tensor_unchecked(object);
  if (tensor.dim() != 0 || !tensor.device().is_cpu() || tensor.raw() == nullptr) return false;
  refuse_lost_gradient(tensor);
  try {
    note_read(object, "item()");
  } catch (const PythonErrorSet&) {
    throw_python_error(runtime);
  }
  value = to_number_value(tensor.dtype(), tensor.raw());
  return true;
}

// Code of the object's may call the operator again that it is converted for.
void require_stack_for(Runtime& runtime) {
  if (is_stack_at_its_end()) throw_python_error(runtime);
}

// Whether an object is an array of another library. The value is its only element, as of a Tensor,
// or None if it has dimensions. Throws RefusedArray.
bool is_array_with(Runtime& runtime, PyObject* object, Value& value) {
  if (PyLong_Check(object) || !is_foreign_array(runtime, object)) return false;
  require_stack_for(runtime);
  Value tensor;
  try {
    to_foreign_tensor(runtime, object, nullptr, tensor);
  } catch (const RefusedArray&) {
    // Its dtype may be none of ours, as uint64.
    const Owned integer = Owned::steal(PyNumber_Index(object));
    if (integer) {
      value = int_of(integer.get());
      return true;
    }
    if (!clear_if(PyExc_TypeError)) throw_python_error(runtime);
    throw;
  }
  const Tensor& only = tensor.to_tensor();
  const bool is_number = only.dim() == 0 && only.device().is_cpu() && only.raw() != nullptr;
  value = is_number ? to_number_value(only.dtype(), only.raw()) : Value();
  return true;
}

bool to_int(Runtime& runtime, PyObject* object, Value& value) {
  if (PyLong_Check(object)) {
    value = int_of(object);
    return true;
  }
  if (is_tensor(runtime, object)) {
    return is_zero_dim_number(runtime, object, value) && value.is_int();
  }
  if (is_array_with(runtime, object, value)) return value.is_int();
  if (!PyIndex_Check(object)) return false;
  require_stack_for(runtime);
  value = int_of(require(runtime, PyNumber_Index(object)).get());
  return true;
}

bool is_complex_number(PyObject* object) noexcept {
  return PyComplex_Check(object) || is_numpy_scalar(object, {"complex", "clongdouble"});
}

// Whether float(object) is the number itself: it also takes a text, and the real part of a complex
// number of NumPy.
bool is_floatable(PyObject* object) noexcept {
  if (PyLong_Check(object)) return true;
  const PyNumberMethods* const number = Py_TYPE(object)->tp_as_number;
  return number != nullptr && number->nb_float != nullptr && !PyUnicode_Check(object) &&
         !is_complex_number(object) && !is_numpy_scalar(object, {"datetime64", "timedelta64"});
}

bool to_float(Runtime& runtime, PyObject* object, Value& value) {
  if (PyFloat_Check(object)) {
    value = PyFloat_AS_DOUBLE(object);
    return true;
  }
  if (Value number; is_tensor(runtime, object) ? is_zero_dim_number(runtime, object, number)
                                               : is_array_with(runtime, object, number)) {
    if (!number.is_int() && !number.is_double()) return false;
    value = number.is_int() ? double(number.to_int()) : number.to_double();
    return true;
  }
  if (is_tensor(runtime, object) || !is_floatable(object)) return false;
  // These have a __float__, which decides their value: no one asked for that.
  if (is_symbolic(runtime, object, SymKind::Int) || is_symbolic(runtime, object, SymKind::Float)) {
    return false;
  }
  require_stack_for(runtime);
  const double real = PyFloat_AsDouble(object);
  if (real == -1.0 && PyErr_Occurred() != nullptr) {
    if (!PyLong_Check(object) || !clear_if(PyExc_OverflowError)) throw_python_error(runtime);
    throw PastRange{"about -1.8e308 to 1.8e308"};
  }
  value = real;
  return true;
}

// A complex number, or any other number as one.
bool to_complex(Runtime& runtime, PyObject* object, Value& value) {
  if (is_complex_number(object)) {
    require_stack_for(runtime);
    const Py_complex number = PyComplex_AsCComplex(object);
    if (PyErr_Occurred() != nullptr) throw_python_error(runtime);
    value = std::complex<double>(number.real, number.imag);
    return true;
  }
  if ((is_tensor(runtime, object) ? is_zero_dim_number(runtime, object, value)
                                  : is_array_with(runtime, object, value)) &&
      value.is_complex()) {
    return true;
  }
  if (!to_float(runtime, object, value)) return false;
  value = std::complex<double>(value.to_double());
  return true;
}

// A bool, or NumPy's scalar one, which is no bool to Python.
bool to_bool(Runtime& runtime, PyObject* object, Value& value) {
  if (!PyBool_Check(object) && !is_numpy_scalar(object, {"bool"})) return false;
  require_stack_for(runtime);
  const int truth = PyObject_IsTrue(object);
  if (truth < 0) throw_python_error(runtime);  // of a class that only has the name
  value = truth == 1;
  return true;
}

bool to_scalar(Runtime& runtime, PyObject* object, Value& value) {
  if (to_bool(runtime, object, value)) return true;
  if (is_tensor(runtime, object)) return is_zero_dim_number(runtime, object, value);
  if (is_array_with(runtime, object, value)) return !value.is_none();
  if (PyFloat_Check(object)) return to_float(runtime, object, value);
  if (is_complex_number(object)) return to_complex(runtime, object, value);
  return to_int(runtime, object, value) || to_float(runtime, object, value);
}

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

bool to_string_value(Runtime& runtime, PyObject* object, Value& value) {
  if (!PyUnicode_Check(object)) {
    const Owned name = member_name(runtime, object);
    return name && to_string_value(runtime, name.get(), value);
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

// Looks for what an object names.
template <typename Find>
auto found(const Find& find) {
  try {
    return find();
  } catch (const Error& error) {
    throw NamesNothing(error);
  }
}

bool to_device(Runtime& runtime, PyObject* object, Value& value) {
  if (is_device(runtime, object)) {
    value = reinterpret_cast<DeviceObject*>(object)->device;
    return true;
  }
  Value text;
  if (!to_string_value(runtime, object, text)) return false;
  value = found([&] { return parse_device(text.to_string_view()); });
  return true;
}

// What NumPy calls a dtype, and classes of numbers, as the factories take them.
OPYARD_COLD bool to_dtype_by_name(Runtime& runtime, PyObject* object, Value& value) {
  require_stack_for(runtime);
  const Owned dtype = checked(PyObject_CallOneArg(require_hook(runtime, hook::find_dtype), object));
  if (!is_dtype(runtime, dtype.get())) return false;
  value = std::int64_t(reinterpret_cast<DTypeObject*>(dtype.get())->dtype);
  return true;
}

bool to_dtype(Runtime& runtime, PyObject* object, Value& value) {
  if (is_dtype(runtime, object)) {
    value = std::int64_t(reinterpret_cast<DTypeObject*>(object)->dtype);
    return true;
  }
  if (PyType_Check(object) || std::string_view(Py_TYPE(object)->tp_name).starts_with("numpy.")) {
    return to_dtype_by_name(runtime, object, value);
  }
  if (!PyLong_Check(object) || PyBool_Check(object)) return false;
  const std::int64_t number = int_of(object);
  value = std::int64_t(found([&] { return require_dtype(number); }));
  return true;
}

bool is_sequence(const Runtime& runtime, PyObject* object) {
  if (PyList_Check(object) || PyTuple_Check(object)) return true;
  return PySequence_Check(object) != 0 && !PyUnicode_Check(object) && !PyBytes_Check(object) &&
         !PyByteArray_Check(object) && !PyDict_Check(object) && !is_tensor(runtime, object);
}

// As to_value(), without asking the object for its value.
bool convert_itself(Runtime& runtime, const Type& type, PyObject* object, Value& value,
                    ForeignArguments* arrays);

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

void to_any(Runtime& runtime, PyObject* object, Value& value);

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

void to_any(Runtime& runtime, PyObject* object, Value& value) {
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
    to_string_value(runtime, object, value);
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

bool convert_itself(Runtime& runtime, const Type& type, PyObject* object, Value& value,
                    ForeignArguments* arrays) {
  switch (type.kind()) {
    case TypeKind::Tensor:
      if (!is_tensor(runtime, object) && object != Py_None) {
        return to_foreign_tensor(runtime, object, arrays, value);
      }
      value = object == Py_None ? Value(Tensor()) : Value(tensor_unchecked(object));
      return true;
    case TypeKind::SymInt:
      return to_symbolic(runtime, object, SymKind::Int, value) || to_int(runtime, object, value);
    case TypeKind::SymFloat:
      return to_symbolic(runtime, object, SymKind::Float, value) ||
             to_float(runtime, object, value);
    case TypeKind::SymBool:
      return to_symbolic(runtime, object, SymKind::Bool, value) || to_bool(runtime, object, value);
    case TypeKind::Int:
    case TypeKind::DeviceIndex:
    case TypeKind::Layout:
    case TypeKind::MemoryFormat:
    case TypeKind::QScheme:
      return to_int(runtime, object, value);
    case TypeKind::Float:
      return to_float(runtime, object, value);
    case TypeKind::Bool:
      return to_bool(runtime, object, value);
    case TypeKind::Str:
    case TypeKind::Dimname:
      try {
        return to_string_value(runtime, object, value);
      } catch (const NamesNothing&) {
        throw WrongElement{"", "str with half a surrogate pair", to_string(type)};
      }
    case TypeKind::Scalar:
      return to_scalar(runtime, object, value);
    case TypeKind::Complex:
      return to_complex(runtime, object, value);
    case TypeKind::Device:
      return to_device(runtime, object, value);
    case TypeKind::Capsule:
      if (!PyCapsule_CheckExact(object)) return false;
      value = from_capsule(runtime, object);
      return true;
    case TypeKind::Future:
      if (!is_future(runtime, object)) return false;
      value = Value(future_of(object));
      return accepts(type, value);
    case TypeKind::Generator:
      if (CountedPtr<Generator> generator = find_generator(object)) {
        value = Value(std::move(generator));
        return true;
      }
      return false;
    case TypeKind::ScalarType:
      return to_dtype(runtime, object, value);
    case TypeKind::None:
      value = Value();
      return object == Py_None;
    case TypeKind::Optional:
      value = Value();
      return object == Py_None || convert_itself(runtime, type.element(), object, value, arrays);
    case TypeKind::List:
      return to_list(runtime, type, object, value, arrays);
    case TypeKind::Tuple:
      return to_tuple(runtime, type, object, value, arrays);
    case TypeKind::Dict:
      return to_dict(runtime, type, object, value, arrays);
    case TypeKind::Union:
      return to_union(runtime, type, object, value, arrays);
    case TypeKind::Any:
    case TypeKind::Variable:
      to_any(runtime, object, value);
      return true;
    default:
      return false;  // types without a natural object in Python
  }
}

}  // namespace

bool to_value(Runtime& runtime, const Type& type, PyObject* object, Value& value,
              ForeignArguments* arrays) {
  if (__builtin_expect(convert_itself(runtime, type, object, value, arrays), 1)) return true;
  const Owned meant = value_by_protocol(object);
  if (!meant) return false;
  if (convert_itself(runtime, type, meant.get(), value, arrays)) return true;
  throw WrongElement{".__opyard_value__()", Py_TYPE(meant.get())->tp_name, to_string(type)};
}

}  // namespace opyard::python
