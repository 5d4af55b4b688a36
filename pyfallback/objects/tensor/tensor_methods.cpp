// objects/tensor/tensor_methods.cpp: questions about a tensor, and its values as Python objects.
//
// These look at the tensor itself and call no operator.
#include "objects/arrays/foreign_kind.h"
#include "objects/tensor/numpy_functions.h"
#include "objects/values/element.h"

#include <optional>

#include "objects/tensor/aten.h"
#include "objects/tensor/tensor_parts.h"
#include "objects/tensor/traced_read.h"
#include "objects/values/integer.h"
#include "objects/values/symbolic.h"
#include "opyard/inspect/inspect.h"
#include "opyard/keys/gradient_mode.h"
#include "opyard/registry/found_operator.h"
#include "opyard/tensor/layout.h"
#include "opyard/tensor/memory_format.h"
#include "opyard/thread/modes.h"
#include "opyard/value/sym_tensor.h"
#include "runtime/hooks.h"
#include "runtime/keywords.h"
#include "runtime/require_stack.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

// The argument of size(dim=None) and stride(dim=None); None if it was left out.
PyObject* parse_dim(PyObject* args, PyObject* kwargs, const char* format) {
  static const char* const names[] = {"dim", nullptr};
  PyObject* dim = Py_None;
  if (!parse_keywords(args, kwargs, format, names, &dim)) {
    throw PythonErrorSet();
  }
  return dim;
}

std::int64_t to_dim(const Tensor& tensor, PyObject* dim) {
  require_stack();
  const Owned number = checked(PyNumber_Index(dim));
  if (const std::optional<std::int64_t> value = find_int64(number.get())) return *value;
  fail(ErrorKind::BadIndex,
       "dimension " + shown(number.get()) + " is out of range for the tensor " + describe(tensor));
}

// Sizes and strides that may be defined by a class, or symbolic.
constexpr std::uint8_t kDefined = TensorImpl::kCustomStrides | TensorImpl::kSymbolic;

// The entry of a tuple at a dimension. Raises BadIndex.
Owned item_at(const Owned& tuple, const Tensor& tensor, PyObject* dim) {
  const std::int64_t count = PyTuple_GET_SIZE(tuple.get());
  const std::int64_t given = to_dim(tensor, dim);
  const std::int64_t at = given < 0 ? given + count : given;
  if (at < 0 || at >= count) {
    fail(ErrorKind::BadIndex, "dimension " + std::to_string(given) +
                                  " is out of range for a tensor of " + std::to_string(count) +
                                  " dimensions");
  }
  return Owned::share(PyTuple_GET_ITEM(tuple.get(), Py_ssize_t(at)));
}

PyObject* size(PyObject* self, PyObject* args, PyObject* kwargs) {
  return enter_from_python([&] {
    const Tensor& tensor = tensor_unchecked(self);
    PyObject* const dim = parse_dim(args, kwargs, "|O:size");
    note_read(self, "size()");
    if (dim == Py_None) return sizes_of(self).release();
    if (tensor.impl()->has_policy(kDefined)) return item_at(sizes_of(self), tensor, dim).release();
    return PyLong_FromLongLong(tensor.size(to_dim(tensor, dim)));
  });
}

PyObject* stride(PyObject* self, PyObject* args, PyObject* kwargs) {
  return enter_from_python([&] {
    const Tensor& tensor = tensor_unchecked(self);
    PyObject* const dim = parse_dim(args, kwargs, "|O:stride");
    note_read(self, "stride()");
    if (dim == Py_None) return strides_of(self).release();
    if (tensor.impl()->has_policy(kDefined)) {
      return item_at(strides_of(self), tensor, dim).release();
    }
    return PyLong_FromLongLong(tensor.stride(to_dim(tensor, dim)));
  });
}

PyObject* dim(PyObject* self, PyObject*) {
  return enter_from_python([&] { return PyLong_FromLongLong(tensor_unchecked(self).dim()); });
}
PyObject* numel(PyObject* self, PyObject*) {
  return enter_from_python([&] {
    const Tensor& tensor = tensor_unchecked(self);
    note_read(self, "numel()");
    if (!tensor.impl()->has_policy(TensorImpl::kCustomSizes | TensorImpl::kSymbolic)) {
      return PyLong_FromLongLong(tensor.numel());
    }
    return wrap(runtime_of_tensor(self), sym_numel(tensor)).release();
  });
}
PyObject* element_size(PyObject* self, PyObject*) {
  return PyLong_FromSize_t(item_size(tensor_unchecked(self).impl()->dtype()));
}
PyObject* storage_offset(PyObject* self, PyObject*) {
  return enter_from_python([&] {
    note_read(self, "storage_offset()");
    const Tensor& tensor = tensor_unchecked(self);
    if (!tensor.impl()->has_policy(TensorImpl::kCustomSizes | TensorImpl::kSymbolic)) {
      return PyLong_FromLongLong(tensor.storage_offset());
    }
    return wrap(runtime_of_tensor(self), sym_storage_offset(tensor)).release();
  });
}
PyObject* is_contiguous(PyObject* self, PyObject*) {
  return enter_from_python(
      [&] { return PyBool_FromLong(tensor_unchecked(self).is_contiguous() ? 1 : 0); });
}
PyObject* data_ptr(PyObject* self, PyObject*) {
  return enter_from_python([&] {
    note_read(self, "data_ptr()");
    const TensorImpl& impl = *tensor_unchecked(self).impl();
    if (impl.data() == nullptr && impl.own_numel() != 0 && impl.keys().has(DispatchKey::Python)) {
      fail(ErrorKind::BadValue, std::string("data_ptr: a ") + Py_TYPE(self)->tp_name +
                                    " has no memory of its own; ask the tensors that it wraps");
    }
    return PyLong_FromVoidPtr(impl.data());
  });
}

PyObject* item(PyObject* self, PyObject*) {
  return enter_from_python([&] { return only_element(self, "item").release(); });
}

PyObject* list_names(PyObject* self, PyObject*) {
  return enter_from_python([&] {
    return PyObject_CallOneArg(require_hook(runtime_of_tensor(self), hook::dir_tensor), self);
  });
}

// f"{x:.2f}": a tensor without dimensions as its number, others only without a format.
PyObject* format(PyObject* self, PyObject* specification) {
  return enter_from_python([&]() -> PyObject* {
    if (!PyUnicode_Check(specification)) {
      fail(ErrorKind::BadArgument,
           std::string("__format__() takes a str, not ") + Py_TYPE(specification)->tp_name);
    }
    if (PyUnicode_GET_LENGTH(specification) == 0) return PyObject_Str(self);
    if (tensor_unchecked(self).dim() != 0) {
      fail(ErrorKind::BadArgument,
           "the tensor " + describe(tensor_unchecked(self)) + " cannot be formatted as '" +
               std::string(require_text(specification, "a format")) +
               "'; a format is for one number: format an element, as x[0], or x.tolist()");
    }
    return PyObject_Format(only_element(self, "format").get(), specification);
  });
}

// What a list of nested lists is made from. With `edge` < 0 everything is taken; else only so
// many elements from both ends of a dimension, with an Ellipsis between them.
struct Listing {
  const Tensor& tensor;
  std::int64_t edge;
};

Owned list_from(const Listing& listing, std::size_t dim, const std::byte* data);

Owned list_dimension(const Listing& listing, std::size_t dim, const std::byte* data) {
  const Tensor& tensor = listing.tensor;
  const std::int64_t size = tensor.sizes()[dim];
  // A stride that no element uses may be any number.
  const auto item = std::int64_t(item_size(tensor.dtype()));
  const std::int64_t step = size > 1 ? tensor.strides()[dim] * item : 0;
  const bool cut = listing.edge >= 0 && size / 2 > listing.edge;
  Owned list = checked(PyList_New(cut ? 2 * listing.edge + 1 : size));
  Py_ssize_t place = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    PyObject* entry = nullptr;
    if (cut && i == listing.edge) {
      i = size - listing.edge - 1;  // the next one is the first of the far end
      entry = Owned::share(Py_Ellipsis).release();
    } else {
      entry = list_from(listing, dim + 1, data + i * step).release();
    }
    PyList_SET_ITEM(list.get(), place++, entry);
  }
  return list;
}

// Nothing limits the number of dimensions, so the depth is Python's to watch.
Owned list_from(const Listing& listing, std::size_t dim, const std::byte* data) {
  if (dim == listing.tensor.sizes().size()) return to_number(listing.tensor.dtype(), data);
  if (Py_EnterRecursiveCall(" while a tensor becomes a list") != 0) throw PythonErrorSet();
  struct Leave {
    ~Leave() { Py_LeaveRecursiveCall(); }
  } const leave;
  return list_dimension(listing, dim, data);
}

// Whether the tensor is on a device whose backend copies to the cpu. Elements of others are not
// read: who wants that copies them.
bool is_copied_to_cpu(const Tensor& tensor) {
  const Device device = tensor.device();
  if (__builtin_expect(device.is_cpu() || device.backend == Backend::Meta, 1)) return false;
  const Operator* const op = Registry::instance().find({"aten::_to_copy", ""});
  return op != nullptr &&
         inspect::has_computed_kernel(op->name(), instance_of(DispatchKey::Dense, device.backend));
}

// The tensor, or a copy of it that can be read here.
Tensor on_cpu(const Tensor& tensor) {
  if (!is_copied_to_cpu(tensor)) return tensor;
  static constinit FoundOperator<Tensor(const Tensor&, std::optional<DType>, std::optional<Layout>,
                                        std::optional<Device>, std::optional<bool>, bool,
                                        std::optional<MemoryFormat>)>
      op("aten::_to_copy");
  const GradientModeGuard plain(GradientMode::NoGradients);
  return op.call(tensor, std::nullopt, std::nullopt, Device{}, std::nullopt, false, std::nullopt);
}

// A wrapper without memory, whose class is asked for each element.
bool is_wrapper(PyObject* self) {
  const TensorImpl& impl = *tensor_unchecked(self).impl();
  return impl.keys().has(DispatchKey::Python) && impl.data() == nullptr;
}

PyObject* tolist(PyObject* self, PyObject*) {
  return enter_from_python([&] {
    note_read(self, "tolist()");
    if (is_listened_to(self)) {
      return PyObject_CallOneArg(require_hook(runtime_of_tensor(self), hook::list_tensor), self);
    }
    const Tensor tensor = on_cpu(tensor_unchecked(self));
    return list_from({tensor, -1}, 0, require_readable(tensor, "tolist")).release();
  });
}

PyObject* list_edges(PyObject* self, PyObject* edge) {
  return enter_from_python([&] {
    const Tensor& tensor = tensor_unchecked(self);
    const Py_ssize_t count = PyNumber_AsSsize_t(edge, nullptr);  // cut to what fits: all of them
    if (count == -1 && PyErr_Occurred() != nullptr) throw PythonErrorSet();
    OPYARD_CHECK(count >= 0, BadValue, "_edges: the number of elements is negative");
    return list_from({tensor, count}, 0, require_readable(tensor, "_edges")).release();
  });
}

PyObject* numpy(PyObject* self, PyObject*) {
  return enter_from_python([&] { return to_array(self).release(); });
}

// For NumPy's own conversions, if the buffer protocol was refused: it says why.
PyObject* array(PyObject* self, PyObject* args, PyObject* kwargs) {
  return enter_from_python([&]() -> PyObject* {
    static const char* const names[] = {"dtype", "copy", nullptr};
    PyObject* dtype = Py_None;
    PyObject* copy = Py_None;
    if (!parse_keywords(args, kwargs, "|OO:__array__", names, &dtype, &copy)) {
      return nullptr;
    }
    if (copy == Py_False && is_wrapper(self)) {
      fail(ErrorKind::BadValue, "__array__: the tensor " + describe(tensor_unchecked(self)) +
                                    " has no memory of its own, so an array of it is a copy, and "
                                    "copy=False was given; leave it out");
    }
    const Owned shared = to_array(self);
    if (dtype == Py_None && copy != Py_True) return Owned::share(shared.get()).release();
    const Owned wanted = dtype == Py_None ? checked(PyObject_GetAttrString(shared.get(), "dtype"))
                                          : Owned::share(dtype);
    const Owned cast = checked(PyObject_GetAttrString(shared.get(), "astype"));
    const Owned call_args = checked(PyTuple_Pack(1, wanted.get()));
    const Owned call_names =
        checked(Py_BuildValue("{s:O}", "copy", copy == Py_True ? Py_True : Py_False));
    return PyObject_Call(cast.get(), call_args.get(), call_names.get());
  });
}

// NumPy asks this instead of taking the tensor for an array of objects.
PyObject* answer_ufunc(PyObject* self, PyObject* args, PyObject* keywords) {
  return enter_from_python([&]() -> PyObject* {
    const Owned first = checked(PyTuple_Pack(1, self));
    const Owned all = checked(PySequence_Concat(first.get(), args));
    PyObject* const answer = require_hook(runtime_of_tensor(self), hook::answer_ufunc);
    return PyObject_Call(answer, all.get(), keywords);
  });
}

// What a function of NumPy such as numpy.mean gives for tensors. Types are not asked for: each
// argument that is an array becomes a tensor.
PyObject* answer_function(PyObject* self, PyObject* args) {
  return enter_from_python([&]() -> PyObject* {
    PyObject *function = nullptr, *types = nullptr, *given = nullptr, *names = nullptr;
    if (PyArg_UnpackTuple(args, "__array_function__", 4, 4, &function, &types, &given, &names) ==
        0) {
      return nullptr;
    }
    PyObject* const answer = require_hook(runtime_of_tensor(self), hook::answer_function);
    return PyObject_CallFunctionObjArgs(answer, function, given, names, nullptr);
  });
}

PyObject* array_namespace(PyObject* self, PyObject* args, PyObject* kwargs) {
  return enter_from_python([&]() -> PyObject* {
    static const char* const names[] = {"api_version", nullptr};
    PyObject* version = Py_None;
    if (!parse_keywords(args, kwargs, "|$O:__array_namespace__", names, &version)) {
      return nullptr;
    }
    return PyObject_CallOneArg(require_hook(runtime_of_tensor(self), hook::array_namespace),
                               version);
  });
}

PyObject* to_complex(PyObject* self, PyObject*) {
  return enter_from_python([&] {
    return PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyComplex_Type),
                               only_element(self, "complex").get());
  });
}

}  // namespace

// If NumPy is to be asked in Python, by way of a memoryview, which keeps the tensor alive as the
// array's base.
Owned to_array(PyObject* self) {
  const Tensor& tensor = tensor_unchecked(self);
  note_read(self, "numpy()");
  if (is_wrapper(self)) {
    return checked(
        PyObject_CallOneArg(require_hook(runtime_of_tensor(self), hook::array_tensor), self));
  }
  require_no_tangent(self, "numpy");
  if (is_copied_to_cpu(tensor)) {
    return to_array(wrap(runtime_of_tensor(self), on_cpu(tensor)).get());
  }
  require_readable(tensor, "numpy");
  require_buffer_format(tensor, "numpy");
  if (Owned array = find_numpy_array(runtime_of_tensor(self), self)) return array;
  const ForeignState& state = *runtime_of_tensor(self).foreign;
  // Not from sys.modules alone: another thread may be in the middle of importing it.
  const Owned numpy =
      checked(PyImport_ImportModuleLevelObject(state.numpy_name, nullptr, nullptr, nullptr, 0));
  const Owned view = checked(PyMemoryView_FromObject(self));
  PyObject* const arguments[] = {numpy.get(), view.get()};
  return checked(PyObject_VectorcallMethod(state.asarray_name, arguments, 2, nullptr));
}

bool is_listened_to(PyObject* self) noexcept {
  return !thread_modes().empty() || tensor_unchecked(self).impl()->keys().has(DispatchKey::Python);
}

Owned only_element(PyObject* self, const char* what) {
  const Tensor& tensor = tensor_unchecked(self);
  // Listeners see aten::item, and aten::_local_scalar_dense behind it.
  if (__builtin_expect(is_listened_to(self), 0)) {
    return call_aten(runtime_of_tensor(self), AtenName::item, {self});
  }
  if (tensor.numel() != 1) {
    fail(ErrorKind::BadValue, std::string(what) + ": the tensor is " + describe(tensor) + " with " +
                                  std::to_string(tensor.numel()) +
                                  " elements; only a tensor of one element is a number");
  }
  note_read(self, what);
  const Tensor here = on_cpu(tensor);
  return to_number(here.dtype(), require_readable(here, what));
}

PyMethodDef tensor_methods[] = {
    {"size", method(size), METH_VARARGS | METH_KEYWORDS,
     "size($self, dim=None)\n--\n\nThe shape, or the size of one dimension. A negative dimension "
     "counts "
     "from the end. Raises IndexError."},
    {"stride", method(stride), METH_VARARGS | METH_KEYWORDS,
     "stride($self, dim=None)\n--\n\nHow many elements are between neighbours, for each dimension "
     "or for "
     "one. Raises IndexError."},
    {"dim", dim, METH_NOARGS, "dim($self)\n--\n\nThe number of dimensions."},
    {"numel", numel, METH_NOARGS, "numel($self)\n--\n\nThe number of elements."},
    {"element_size", element_size, METH_NOARGS, "element_size($self)\n--\n\nBytes of one element."},
    {"storage_offset", storage_offset, METH_NOARGS,
     "storage_offset($self)\n--\n\nThe first element's place in the memory, in elements."},
    {"is_contiguous", is_contiguous, METH_NOARGS,
     "is_contiguous($self)\n--\n\nWhether the elements are in row-major order without gaps."},
    {"data_ptr", data_ptr, METH_NOARGS,
     "data_ptr($self)\n--\n\nThe address of the first element, as an int; 0 without memory."},
    {"item", item, METH_NOARGS,
     "item($self)\n--\n\nThe only element as a Python number. Raises ValueError for any other "
     "number of "
     "elements, NotImplementedError for a device that Python cannot read."},
    {"__dir__", list_names, METH_NOARGS, "__dir__($self)\n--\n\nWith the operators of aten."},
    {"__format__", format, METH_O,
     "__format__($self, format)\n--\n\nThe number of a tensor without dimensions in that format. "
     "Raises TypeError for other tensors, unless the format is empty."},
    {"tolist", tolist, METH_NOARGS,
     "tolist($self)\n--\n\nThe elements as nested lists of numbers; one number for no dimensions. "
     "Raises NotImplementedError for a device that Python cannot read."},
    {"_edges", list_edges, METH_O,
     "_edges($self, count)\n--\n\nLike tolist(), with an Ellipsis for all but `count` elements "
     "from both "
     "ends of a long dimension."},
    {"numpy", numpy, METH_NOARGS,
     "numpy($self)\n--\n\nA NumPy array on the same memory; read-only if the tensor is. Of a "
     "wrapper without memory a new array of what its class answers. Raises "
     "NotImplementedError for bfloat16, which NumPy does not have, and for other devices."},
    {"__array__", method(array), METH_VARARGS | METH_KEYWORDS,
     "__array__($self, dtype=None, copy=None)\n--\n\nnumpy(), converted and copied as NumPy asks."},
    {"__array_ufunc__", method(answer_ufunc), METH_VARARGS | METH_KEYWORDS,
     "__array_ufunc__($self, ufunc, method, /, *inputs, **kwargs)\n--\n\nWhat a function of NumPy "
     "gives for the tensor: that of an operator, such as numpy.add, what the operator gives; "
     "others "
     "raise TypeError."},
    {"__array_function__", answer_function, METH_VARARGS,
     "__array_function__($self, func, types, args, kwargs)\n--\n\nWhat a function of NumPy such as "
     "numpy.mean gives for tensors."},
    {"__array_namespace__", method(array_namespace), METH_VARARGS | METH_KEYWORDS,
     "__array_namespace__($self, /, *, api_version=None)\n--\n\nThe namespace of the array API "
     "standard: the module opyard.array_api. Raises ValueError for a version that it does not "
     "follow."},
    {"__complex__", to_complex, METH_NOARGS,
     "__complex__($self)\n--\n\nThe only element as a complex number. Raises ValueError for any "
     "other number of elements."},
    {"__dlpack__", method(export_dlpack), METH_VARARGS | METH_KEYWORDS,
     "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\nA "
     "DLPack "
     "capsule on the same memory: versioned where max_version is (1, 0) or later. Raises "
     "BufferError for what it cannot express: read-only memory without a version, another device."},
    {"__copy__", copy_tensor, METH_NOARGS, "__copy__($self)\n--\n\nOn the same memory."},
    {"__deepcopy__", deepcopy_tensor, METH_O,
     "__deepcopy__($self, memo)\n--\n\nWith memory of its own."},
    {"__reduce_ex__", reduce_tensor, METH_O,
     "__reduce_ex__($self, protocol)\n--\n\nFor pickle: the elements in row-major order."},
    {"alias", untagged_alias, METH_NOARGS,
     "alias($self)\n--\n\nA tensor of its own on the same memory. It belongs to no interpreter "
     "until it "
     "gets an attribute, or is met again in C++: so it can be handed to another interpreter of the "
     "process."},
    {"_alias", alias_tensor, METH_NOARGS, nullptr},
    {"_duplicate", duplicate_tensor, METH_NOARGS, nullptr},
    {"_bytes", bytes_of_tensor, METH_NOARGS, nullptr},
    {"_typed", typed_tensor, METH_VARARGS, nullptr},
    {"_memory_key", memory_key, METH_NOARGS, nullptr},
    {"_memory", whole_memory, METH_NOARGS, nullptr},
    {"_elements", elements_on_memory, METH_VARARGS, nullptr},
    {"__dlpack_device__", dlpack_device, METH_NOARGS,
     "__dlpack_device__($self)\n--\n\nDLPack's device type and number: (1, 0) for the cpu. Raises "
     "NotImplementedError for other devices."},
    {"make_subclass", method(make_subclass), METH_FASTCALL | METH_STATIC,
     "make_subclass(cls, data, /)\n--\n\nAn instance of a subclass of Tensor on the memory of "
     "`data`, "
     "a tensor of its own: what the __new__ of a subclass returns. Raises TypeError for other "
     "classes, and ValueError for data that requires a gradient while gradients are on."},
    {"as_subclass", as_subclass, METH_O,
     "as_subclass($self, cls, /)\n--\n\nThe same memory as an instance of another class, taped "
     "as a view if the tensor requires a gradient."},
    {"requires_grad_", method(tensor_requires_grad_), METH_VARARGS | METH_KEYWORDS,
     "requires_grad_($self, requires_grad=True)\n--\n\nHas calls with this tensor taped from "
     "now "
     "on, or not. Raises TypeError for integers."},
    {"backward", method(tensor_backward), METH_VARARGS | METH_KEYWORDS,
     "backward($self, gradient=None, retain_graph=None, create_graph=False, inputs=None, *, "
     "keep_graph=None)\n--\n\n"
     "Accumulates the gradients of the leaves that this tensor was computed from, in their "
     "attribute grad. Without `gradient` the tensor has one element."},
    {"retain_grad", method(tensor_retain_grad), METH_VARARGS | METH_KEYWORDS,
     "retain_grad($self)\n--\n\nHas backward() keep the gradient also if this is no leaf."},
    {"register_hook", method(tensor_register_hook), METH_VARARGS | METH_KEYWORDS,
     "register_hook($self, hook)\n--\n\nCalls hook(gradient) whenever this tensor's gradient was "
     "computed; a Tensor that it returns takes its place. Gives a handle with remove()."},
    {"register_post_accumulate_grad_hook", method(tensor_register_post_accumulate_grad_hook),
     METH_VARARGS | METH_KEYWORDS,
     "register_post_accumulate_grad_hook($self, hook)\n--\n\nCalls hook(tensor) whenever a "
     "gradient was added to the attribute grad of this leaf. Gives a handle with remove()."},
    {"is_inference", is_inference_tensor, METH_NOARGS,
     "is_inference($self)\n--\n\nWhether it was made under opyard.autograd.inference_mode()."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace opyard::python
