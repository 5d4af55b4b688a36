// objects/tensor/tensor_attributes.cpp: attributes, and methods that are aten operators.
//
// [Lookup] A name is looked for where every Python object looks, and then among the aten operators:
// t.relu is ops.aten.relu bound to t. What was found is cached until the registry changes, so an
// operator that is defined or unregistered shows at once. Names that begin with '_' are never
// operators: Python, NumPy and others probe for many of them, and must not load the operators by
// that.
//
// [Completion] An interactive shell reads what it shows, each name of the type, and stops at an
// error that is no AttributeError. It does not read what is a property of Python; so attributes
// that some tensors do not have are properties, of the same functions.
#include "objects/tensor/aten.h"
#include "objects/tensor/aten_methods.h"
#include "objects/tensor/bound_method.h"
#include "objects/tensor/tensor_parts.h"
#include "objects/tensor/traced_read.h"
#include "objects/values/dtype.h"
#include "objects/values/symbolic.h"
#include "opyard/value/sym_tensor.h"
#include "runtime/hooks.h"
#include "runtime/types.h"

namespace opyard::python {

bool may_be_operator(PyObject* name) noexcept {
  return PyUnicode_Check(name) && PyUnicode_GET_LENGTH(name) > 0 &&
         PyUnicode_READ_CHAR(name, 0) != '_';
}

namespace {

Owned words_to_tuple(Runtime& runtime, SymIntSpan words) {
  const std::vector<SymInt> copy(words.begin(), words.end());  // wrapping may run Python code
  Owned tuple = checked(PyTuple_New(Py_ssize_t(copy.size())));
  for (std::size_t i = 0; i < copy.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), wrap(runtime, copy[i]).release());
  }
  return tuple;
}

PyObject* get_shape(PyObject* self, void*) {
  return enter_from_python([&] {
    note_read(self, "shape");
    return sizes_of(self).release();
  });
}
PyObject* get_strides(PyObject* self, void*) {
  return enter_from_python([&] {
    note_read(self, "strides");
    return strides_of(self).release();
  });
}
PyObject* get_ndim(PyObject* self, void*) {
  return enter_from_python([&] { return PyLong_FromLongLong(tensor_unchecked(self).dim()); });
}
PyObject* get_dtype(PyObject* self, void*) {
  return enter_from_python(
      [&] { return wrap(runtime_of_tensor(self), tensor_unchecked(self).dtype()).release(); });
}
PyObject* get_device(PyObject* self, void*) {
  return enter_from_python(
      [&] { return wrap(runtime_of_tensor(self), tensor_unchecked(self).device()).release(); });
}

PyObject* get_layout(PyObject* self, void*) {
  return enter_from_python([&] {
    const Tensor& tensor = tensor_unchecked(self);
    const Owned number = checked(PyLong_FromLong(long(tensor.layout())));
    return PyObject_CallOneArg(require_hook(runtime_of_tensor(self), hook::Layout), number.get());
  });
}

PyObject* get_transposed(PyObject* self, void*) {
  return enter_from_python([&] {
    const Tensor& tensor = tensor_unchecked(self);
    if (tensor.dim() > 2) {
      fail(ErrorKind::BadShape, "T: the tensor is " + describe(tensor) +
                                    "; accepted are at most 2 dimensions, and permute(dims) "
                                    "reorders any number of them");
    }
    return call_aten(runtime_of_tensor(self), AtenName::t, {self}).release();
  });
}

PyObject* get_matrix_transposed(PyObject* self, void*) {
  return enter_from_python([&] {
    const Tensor& tensor = tensor_unchecked(self);
    if (tensor.dim() < 2) {
      fail(ErrorKind::BadShape, "mT: the tensor is " + describe(tensor) +
                                    "; at least 2 dimensions are needed, of which the last two "
                                    "change places");
    }
    const Owned last = checked(PyLong_FromLong(-1)), before = checked(PyLong_FromLong(-2));
    return call_aten(runtime_of_tensor(self), AtenName::transpose, {self, before.get(), last.get()})
        .release();
  });
}
PyObject* get_adjoint(PyObject* self, void*) {
  return enter_from_python(
      [&] { return call_aten(runtime_of_tensor(self), AtenName::adjoint, {self}).release(); });
}

Owned part_of(PyObject* self, bool is_real) {
  const AtenName name = is_real ? AtenName::real : AtenName::imag;
  return call_aten(runtime_of_tensor(self), name, {self});
}
PyObject* get_real(PyObject* self, void*) {
  return enter_from_python([&] { return part_of(self, true).release(); });
}
PyObject* get_imaginary(PyObject* self, void*) {
  return enter_from_python([&] { return part_of(self, false).release(); });
}
// Writes to one of the parts, as `x.real[...] = value` does.
int set_part(PyObject* self, PyObject* value, void* is_real) {
  return enter_from_python(-1, [&] {
    if (value == nullptr) {
      fail(ErrorKind::BadArgument, "a part of a tensor's elements cannot be deleted");
    }
    const Owned part = part_of(self, is_real != nullptr);
    return PyObject_SetItem(part.get(), Py_Ellipsis, value);
  });
}

}  // namespace

Owned words_to_tuple(IntSpan words) {
  Owned tuple = checked(PyTuple_New(Py_ssize_t(words.size())));
  for (std::size_t i = 0; i < words.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), checked(PyLong_FromLongLong(words[i])).release());
  }
  return tuple;
}

Owned sizes_of(PyObject* self) {
  const Tensor& tensor = tensor_unchecked(self);
  if (!tensor.impl()->has_policy(TensorImpl::kCustomSizes | TensorImpl::kSymbolic)) {
    return words_to_tuple(tensor.sizes());
  }
  return words_to_tuple(runtime_of_tensor(self), sym_sizes(tensor));
}

Owned strides_of(PyObject* self) {
  const Tensor& tensor = tensor_unchecked(self);
  if (!tensor.impl()->has_policy(TensorImpl::kCustomStrides | TensorImpl::kSymbolic)) {
    return words_to_tuple(tensor.strides());
  }
  return words_to_tuple(runtime_of_tensor(self), sym_strides(tensor));
}

namespace {

// A method of the class that is called as operators are, and kept with them: alias. Others stay
// Python's own, which profiles of functions in C know.
PyObject* find_kept_method(PyObject* self, PyObject* name) {
  PyObject* const own = lookup_on_type(Py_TYPE(self), name);
  if (own == nullptr || !Py_IS_TYPE(own, &PyMethodDescr_Type)) return nullptr;
  const PyMethodDef& method = *reinterpret_cast<PyMethodDescrObject*>(own)->d_method;
  const bool may_be_hidden = reinterpret_cast<TensorObject*>(self)->attributes != nullptr;
  return method.ml_meth == &untagged_alias && !may_be_hidden ? own : nullptr;
}

// The error names what is likely meant, which CPython leaves out where there are 750 names or more.
PyObject* raise_missing(PyObject* self, PyObject* name) {
  const Owned missing = checked(PyObject_CallFunctionObjArgs(
      require_hook(runtime_of_tensor(self), hook::missing_attribute), self, name, nullptr));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(missing.get())), missing.get());
  return nullptr;
}

// The private function is the public one without the exception at a miss, which would cost more
// than calling the operator.
[[gnu::noinline]] PyObject* look_up_attribute(PyObject* self, PyObject* name) {
  return enter_from_python([&]() -> PyObject* {
    if (!may_be_operator(name)) return PyObject_GenericGetAttr(self, name);
    if (PyObject* const kept = find_kept_method(self, name)) {
      keep_near_method(runtime_of_tensor(self), Py_TYPE(self), name, kept);
      return bind_method(runtime_of_tensor(self), kept, self);
    }
    if (PyObject* const found = _PyObject_GenericGetAttrWithDict(self, name, nullptr, 1)) {
      return found;
    }
    if (PyErr_Occurred() != nullptr) return nullptr;
    const Owned method = find_aten_method(runtime_of_tensor(self), Py_TYPE(self), name);
    if (!method) return raise_missing(self, name);
    return bind_method(runtime_of_tensor(self), method.get(), self);
  });
}

}  // namespace

// See [Lookup], and aten_methods.h, [Near]: a tensor with attributes of its own may have the name.
PyObject* get_tensor_attribute(PyObject* self, PyObject* name) {
  const TensorObject& wrapper = *reinterpret_cast<TensorObject*>(self);
  if (wrapper.attributes == nullptr) {
    if (PyObject* const method = find_near_method(*wrapper.runtime, Py_TYPE(self), name)) {
      return bind_method(*wrapper.runtime, method, self);
    }
  }
  return look_up_attribute(self, name);
}

PyGetSetDef tensor_properties[] = {
    {"shape", get_shape, nullptr, "The size of each dimension: a tuple of int.", nullptr},
    {"strides", get_strides, nullptr,
     "How many elements are between neighbours in each dimension: a tuple of int.", nullptr},
    {"ndim", get_ndim, nullptr, "The number of dimensions.", nullptr},
    {"dtype", get_dtype, nullptr, "The type of the elements: an opyard.dtype.", nullptr},
    {"device", get_device, nullptr, "Where the memory is: an opyard.device.", nullptr},
    {"layout", get_layout, nullptr, "How the elements are ordered: an opyard.Layout.", nullptr},
    {"T", get_transposed, nullptr,
     "The transpose of a matrix, as a view; a tensor with fewer dimensions as it is. Raises "
     "ValueError for more than two dimensions.",
     nullptr},
    {"mT", get_matrix_transposed, nullptr,
     "The transpose of the last two dimensions, as a view. Raises ValueError for fewer.", nullptr},
    {"mH", get_adjoint, nullptr,
     "The conjugate of mT: for real numbers a view, for complex ones a copy.", nullptr},
    {"real", get_real, set_part,
     "The real parts of complex numbers, as a view; a tensor of real numbers itself. Assigning "
     "writes to it.",
     const_cast<char*>("real")},
    {"imag", get_imaginary, set_part,
     "The imaginary parts of complex numbers, as a view. Raises TypeError for real ones.", nullptr},
    {"requires_grad", get_requires_grad, set_gradient,
     "Whether calls with this tensor are taped, so that its gradient can be computed.",
     const_cast<char*>("requires_grad")},
    {"grad", get_grad, set_grad, "The gradient that backward() has accumulated: a Tensor, or None.",
     nullptr},
    {"grad_fn", get_gradient, nullptr,
     "The function of the call that gave this tensor, or None for a leaf.",
     const_cast<char*>("grad_fn")},
    {"retains_grad", get_gradient, nullptr,
     "Whether a tensor that is no leaf retains its gradient.", const_cast<char*>("retains_grad")},
    {"is_leaf", get_is_leaf, nullptr, "Whether no taped call gave this tensor.", nullptr},
    {"output_nr", get_output_nr, nullptr, "Which output of its grad_fn it is.", nullptr},
    {"_version", get_version, nullptr,
     "How often its memory was written, counted together with all tensors on that memory.",
     nullptr},
    {"__dict__", get_attributes, set_attributes, nullptr, nullptr},
    {"__class__", get_class, refuse_class, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

void make_properties(PyTypeObject* type) {
  auto* const changed = reinterpret_cast<PyObject*>(type);
  for (const char* const name : {"mT", "mH", "imag"}) {
    const Owned descriptor = checked(PyObject_GetAttrString(changed, name));
    if (Py_TYPE(descriptor.get()) != &PyGetSetDescr_Type) continue;  // it is one already
    const auto part = [&](const char* of) {
      return checked(PyObject_GetAttrString(descriptor.get(), of));
    };
    const Owned property = checked(PyObject_CallFunctionObjArgs(
        reinterpret_cast<PyObject*>(&PyProperty_Type), part("__get__").get(), part("__set__").get(),
        part("__delete__").get(), part("__doc__").get(), nullptr));
    if (PyObject_SetAttrString(changed, name, property.get()) < 0) throw PythonErrorSet();
  }
}

}  // namespace opyard::python
