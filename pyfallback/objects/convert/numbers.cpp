// objects/convert/numbers.cpp: conversion to ints, floats, bools and complex numbers.
#include "objects/convert/conversions.h"

#include <optional>

#include "objects/arrays/foreign_array.h"
#include "objects/arrays/numpy_types.h"
#include "objects/tensor/tensor.h"
#include "objects/tensor/traced_read.h"
#include "objects/values/element.h"
#include "objects/values/integer.h"
#include "objects/values/symbolic.h"
#include "opyard/detail/python/clear.h"
#include "opyard/detail/python/stack_end.h"
#include "runtime/errors.h"

#include "opyard/detail/registry/gradient_slot.h"
#include "opyard/detail/tensor/gradient_functions.h"

namespace opyard::python::conversion {
namespace {

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

}  // namespace

std::int64_t int_of(PyObject* integer) {
  if (const std::optional<std::int64_t> value = find_int64(integer)) return *value;
  throw PastRange{kInt64Range};
}

void require_stack_for(Runtime& runtime) {
  if (is_stack_at_its_end()) throw_python_error(runtime);
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

bool to_sym_int(Runtime& runtime, PyObject* object, Value& value) {
  return to_symbolic(runtime, object, SymKind::Int, value) || to_int(runtime, object, value);
}
bool to_sym_float(Runtime& runtime, PyObject* object, Value& value) {
  return to_symbolic(runtime, object, SymKind::Float, value) || to_float(runtime, object, value);
}
bool to_sym_bool(Runtime& runtime, PyObject* object, Value& value) {
  return to_symbolic(runtime, object, SymKind::Bool, value) || to_bool(runtime, object, value);
}

}  // namespace opyard::python::conversion
