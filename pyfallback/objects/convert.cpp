// objects/convert.cpp: one conversion a type, each way.
#include "objects/convert.h"

#include <optional>
#include <string>

#include "objects/dtype.h"
#include "objects/integer.h"
#include "objects/tensor.h"
#include "runtime/errors.h"

namespace opyard::python {
namespace {

// A 64-bit integer out of a Python int. Throws PastRange.
std::int64_t int_of(PyObject* integer) {
  if (const std::optional<std::int64_t> value = find_int64(integer)) return *value;
  throw PastRange{kInt64Range};
}

// The only element of a CPU tensor, as bool, int or float; false where it has another number
// of elements, another device or a dtype without a Python number.
bool item_of(const Tensor& tensor, Value& value) {
  if (tensor.numel() != 1 || !tensor.device().is_cpu() || tensor.raw() == nullptr) return false;
  switch (tensor.dtype()) {
    case DType::Bool:
      value = *tensor.data<bool>();
      return true;
    case DType::UInt8:
      value = std::int64_t{*tensor.data<std::uint8_t>()};
      return true;
    case DType::Int8:
      value = std::int64_t{*tensor.data<std::int8_t>()};
      return true;
    case DType::Int16:
      value = std::int64_t{*tensor.data<std::int16_t>()};
      return true;
    case DType::Int32:
      value = std::int64_t{*tensor.data<std::int32_t>()};
      return true;
    case DType::Int64:
      value = *tensor.data<std::int64_t>();
      return true;
    case DType::Float32:
      value = double{*tensor.data<float>()};
      return true;
    case DType::Float64:
      value = *tensor.data<double>();
      return true;
    default:
      return false;
  }
}

bool is_zero_dim_number(const Runtime& runtime, PyObject* object, Value& value) {
  if (!is_tensor(runtime, object)) return false;
  const Tensor& tensor = tensor_unchecked(object);
  return tensor.dim() == 0 && item_of(tensor, value);
}

bool to_int(Runtime& runtime, PyObject* object, Value& value) {
  if (PyLong_Check(object)) {
    value = int_of(object);
    return true;
  }
  if (is_tensor(runtime, object)) {
    return is_zero_dim_number(runtime, object, value) && value.is_int();
  }
  if (!PyIndex_Check(object)) return false;
  value = int_of(require(runtime, PyNumber_Index(object)).get());
  return true;
}

bool to_float(Runtime& runtime, PyObject* object, Value& value) {
  if (PyFloat_Check(object)) {
    value = PyFloat_AS_DOUBLE(object);
    return true;
  }
  if (is_tensor(runtime, object)) {
    Value number;
    if (!is_zero_dim_number(runtime, object, number) || number.is_bool()) return false;
    value = number.is_int() ? double(number.to_int()) : number.to_double();
    return true;
  }
  const PyNumberMethods* const number = Py_TYPE(object)->tp_as_number;
  if (!PyLong_Check(object) && (number == nullptr || number->nb_float == nullptr)) return false;
  const double real = PyFloat_AsDouble(object);
  if (real == -1.0 && PyErr_Occurred() != nullptr) {
    if (!PyLong_Check(object) || PyErr_ExceptionMatches(PyExc_OverflowError) == 0) {
      throw_python_error(runtime);
    }
    PyErr_Clear();
    throw PastRange{"about -1.8e308 to 1.8e308"};
  }
  value = real;
  return true;
}

// A bool, or NumPy's scalar one, which is no bool to Python.
bool to_bool(PyObject* object, Value& value) {
  const std::string_view type = Py_TYPE(object)->tp_name;
  if (!PyBool_Check(object) && type != "numpy.bool" && type != "numpy.bool_") return false;
  value = PyObject_IsTrue(object) == 1;
  return true;
}

bool to_scalar(Runtime& runtime, PyObject* object, Value& value) {
  if (to_bool(object, value)) return true;
  if (is_tensor(runtime, object)) return is_zero_dim_number(runtime, object, value);
  if (PyFloat_Check(object)) return to_float(runtime, object, value);
  return to_int(runtime, object, value) || to_float(runtime, object, value);
}

bool to_string_value(Runtime& runtime, PyObject* object, Value& value) {
  if (!PyUnicode_Check(object)) return false;
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(object, &size);
  if (text == nullptr) throw_python_error(runtime);
  value = Value(std::string_view(text, std::size_t(size)));
  return true;
}

bool to_device(Runtime& runtime, PyObject* object, Value& value) {
  if (is_device(runtime, object)) {
    value = reinterpret_cast<DeviceObject*>(object)->device;
    return true;
  }
  Value text;
  if (!to_string_value(runtime, object, text)) return false;
  value = parse_device(text.to_string_view());
  return true;
}

bool to_dtype(Runtime& runtime, PyObject* object, Value& value) {
  if (is_dtype(runtime, object)) {
    value = std::int64_t(reinterpret_cast<DTypeObject*>(object)->dtype);
    return true;
  }
  if (!PyLong_Check(object) || PyBool_Check(object)) return false;
  value = std::int64_t(require_dtype(int_of(object)));
  return true;
}

bool is_sequence(const Runtime& runtime, PyObject* object) {
  if (PyList_Check(object) || PyTuple_Check(object)) return true;
  return PySequence_Check(object) != 0 && !PyUnicode_Check(object) && !PyBytes_Check(object) &&
         !PyByteArray_Check(object) && !PyDict_Check(object) && !is_tensor(runtime, object);
}

bool to_list(Runtime& runtime, const Type& type, PyObject* object, Value& value) {
  const Type& element = type.element();
  if (!is_sequence(runtime, object)) {
    Value one;  // int[2] takes 3 for [3, 3]
    if (type.size_hint() == 0 || !to_value(runtime, element, object, one)) return false;
    value = Value::list(std::vector<Value>(std::size_t(type.size_hint()), one));
    return true;
  }
  const Owned items = require(runtime, PySequence_Fast(object, "not a sequence"));
  std::vector<Value> values;
  values.reserve(std::size_t(PySequence_Fast_GET_SIZE(items.get())));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    // An item is held while it is converted: __index__ may change the list.
    const Owned item = Owned::share(PySequence_Fast_GET_ITEM(items.get(), i));
    if (!to_value(runtime, element, item.get(), values.emplace_back())) return false;
  }
  value = Value::list(std::move(values));
  return true;
}

bool to_tuple(Runtime& runtime, const Type& type, PyObject* object, Value& value) {
  if (!PyTuple_Check(object) || std::size_t(PyTuple_GET_SIZE(object)) != type.elements().size()) {
    return false;
  }
  std::vector<Value> values(type.elements().size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    PyObject* const item = PyTuple_GET_ITEM(object, Py_ssize_t(i));
    if (!to_value(runtime, *type.elements()[i], item, values[i])) return false;
  }
  value = Value::tuple(std::move(values));
  return true;
}

// Raises RecursionError where nesting goes too deep.
class RecursionLimit {
 public:
  explicit RecursionLimit(Runtime& runtime) {
    if (Py_EnterRecursiveCall(" while converting a list") != 0) throw_python_error(runtime);
  }
  RecursionLimit(const RecursionLimit&) = delete;
  RecursionLimit& operator=(const RecursionLimit&) = delete;
  ~RecursionLimit() { Py_LeaveRecursiveCall(); }
};

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
  } else if (PyUnicode_CheckExact(object)) {
    to_string_value(runtime, object, value);
  } else if (is_device(runtime, object)) {
    to_device(runtime, object, value);
  } else if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) {
    const RecursionLimit limit(runtime);  // a list may contain itself
    std::vector<Value> values(std::size_t(PySequence_Fast_GET_SIZE(object)));
    for (std::size_t i = 0; i < values.size(); ++i) {
      to_any(runtime, PySequence_Fast_GET_ITEM(object, Py_ssize_t(i)), values[i]);
    }
    value = PyList_CheckExact(object) ? Value::list(std::move(values))
                                      : Value::tuple(std::move(values));
  } else {
    Py_INCREF(object);
    value = Value(make_counted<ForeignObject>(runtime.tag, object));
  }
}

// The first member that takes the object.
bool to_union(Runtime& runtime, const Type& type, PyObject* object, Value& value) {
  std::optional<PastRange> past;
  for (const TypePtr& member : type.elements()) {
    try {
      if (to_value(runtime, *member, object, value)) return true;
    } catch (const PastRange& range) {
      past = range;  // a wider member may follow
    }
  }
  if (past) throw *past;
  return false;
}

Owned items_to_python(Runtime& runtime, const Type& type, const std::vector<Value>& items,
                      bool as_tuple) {
  const auto size = Py_ssize_t(items.size());
  Owned sequence = require(runtime, as_tuple ? PyTuple_New(size) : PyList_New(size));
  const TypePtr any = base_type(TypeKind::Any);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Type* element = any.get();
    if (type.kind() == TypeKind::List) element = &type.element();
    if (type.kind() == TypeKind::Tuple && i < type.elements().size())
      element = type.elements()[i].get();
    PyObject* const item = to_python(runtime, *element, items[i]).release();
    if (as_tuple) {
      PyTuple_SET_ITEM(sequence.get(), Py_ssize_t(i), item);
    } else {
      PyList_SET_ITEM(sequence.get(), Py_ssize_t(i), item);
    }
  }
  return sequence;
}

}  // namespace

bool to_value(Runtime& runtime, const Type& type, PyObject* object, Value& value) {
  switch (type.kind()) {
    case TypeKind::Tensor:
      if (!is_tensor(runtime, object) && object != Py_None) return false;
      value = object == Py_None ? Value(Tensor()) : Value(tensor_unchecked(object));
      return true;
    case TypeKind::Int:
    case TypeKind::SymInt:
    case TypeKind::DeviceIndex:
    case TypeKind::Layout:
    case TypeKind::MemoryFormat:
    case TypeKind::QScheme:
      return to_int(runtime, object, value);
    case TypeKind::Float:
    case TypeKind::SymFloat:
      return to_float(runtime, object, value);
    case TypeKind::Bool:
    case TypeKind::SymBool:
      return to_bool(object, value);
    case TypeKind::Str:
    case TypeKind::Dimname:
      return to_string_value(runtime, object, value);
    case TypeKind::Scalar:
      return to_scalar(runtime, object, value);
    case TypeKind::Device:
      return to_device(runtime, object, value);
    case TypeKind::ScalarType:
      return to_dtype(runtime, object, value);
    case TypeKind::None:
      value = Value();
      return object == Py_None;
    case TypeKind::Optional:
      value = Value();
      return object == Py_None || to_value(runtime, type.element(), object, value);
    case TypeKind::List:
      return to_list(runtime, type, object, value);
    case TypeKind::Tuple:
      return to_tuple(runtime, type, object, value);
    case TypeKind::Union:
      return to_union(runtime, type, object, value);
    case TypeKind::Any:
    case TypeKind::Variable:
      to_any(runtime, object, value);
      return true;
    default:
      return false;  // kinds that no value can have yet
  }
}

Owned to_python(Runtime& runtime, const Type& type, const Value& value) {
  switch (value.kind()) {
    case Kind::None:
      return Owned::share(Py_None);
    case Kind::Bool:
      return Owned::share(value.bool_unchecked() ? Py_True : Py_False);
    case Kind::Int:
      if (type.kind() == TypeKind::ScalarType)
        return wrap(runtime, require_dtype(value.int_unchecked()));
      if (type.kind() == TypeKind::Optional) return to_python(runtime, type.element(), value);
      return require(runtime, PyLong_FromLongLong(value.int_unchecked()));
    case Kind::Double:
      return require(runtime, PyFloat_FromDouble(value.double_unchecked()));
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
      return items_to_python(runtime, type, value.items_unchecked(), true);
    case Kind::PyObject: {
      const ForeignObject& object = value.to_foreign();
      if (object.interpreter != runtime.tag) {
        fail(ErrorKind::InterpreterGone,
             std::string("an object of interpreter ") + (*object.interpreter)->name() +
                 " cannot be used in interpreter " + (*runtime.tag)->name());
      }
      return Owned::share(static_cast<PyObject*>(object.object));
    }
  }
  fail(ErrorKind::Internal, "a value of a kind that Python does not know");
}

}  // namespace opyard::python
