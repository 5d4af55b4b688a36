// objects/tensor/tensor_copy.cpp: memory of tensors for copying and pickling; opyard/_tensor/copying.py does
// the rest.
//
// No operator is called: a copy is one of the tensor itself, whatever its keys lead to.
#include "objects/tensor/aten.h"
#include "objects/values/dtype.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "objects/tensor/call_alias.h"
#include "objects/tensor/tensor_parts.h"
#include "objects/values/element.h"
#include "opyard/keys/gradient_mode.h"
#include "opyard/registry/found_operator.h"
#include "opyard/tensor/wrapped_stride.h"
#include "runtime/gil.h"
#include "runtime/hooks.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

// Of an instance of a subclass as well, whose type does not lead to the module.
Runtime& here() {
  Runtime* const runtime = find_runtime();
  OPYARD_CHECK(runtime != nullptr, InterpreterGone, "the Python interpreter has ended");
  return *runtime;
}

// The strides that the same elements have without gaps, in the same order in memory; empty if
// they overlap or have gaps.
std::vector<std::int64_t> dense_strides(const Tensor& tensor) {
  const IntSpan sizes = tensor.sizes();
  std::vector<std::int64_t> strides(tensor.strides().begin(), tensor.strides().end());
  std::vector<std::size_t> order(sizes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return strides[a] < strides[b] || (strides[a] == strides[b] && sizes[a] < sizes[b]);
  });
  std::int64_t expected = 1;
  for (const std::size_t dim : order) {
    if (sizes[dim] == 1) continue;
    if (strides[dim] != expected) return {};
    expected *= sizes[dim];
  }
  return strides;
}

constexpr std::int64_t kOne = 1;

// Copies the elements in row-major order; gives the place behind the last one.
std::byte* gather(const Tensor& tensor, std::size_t dim, const std::byte* from, std::byte* to) {
  const std::size_t item = item_size(tensor.dtype());
  if (dim == tensor.sizes().size()) {
    std::memcpy(to, from, item);
    return to + item;
  }
  const std::int64_t step = wrapped_product(tensor.strides()[dim], std::int64_t(item));
  for (std::int64_t i = 0; i < tensor.sizes()[dim]; ++i) {
    to = gather(tensor, dim + 1, from + i * step, to);
  }
  return to;
}

// A copy with memory of its own; if the elements are close together, in the same order.
Tensor duplicate(const Tensor& tensor, const char* what) {
  if (tensor.device() == parse_device("meta")) {
    return Tensor::empty(tensor.sizes(), tensor.dtype(), tensor.device());
  }
  const std::byte* const from = require_readable(tensor, what);
  const std::size_t bytes = std::size_t(tensor.numel()) * item_size(tensor.dtype());
  Tensor copy = Tensor::empty(tensor.sizes(), tensor.dtype());
  if (bytes == 0) return copy;
  auto* const to = static_cast<std::byte*>(copy.mutable_raw());
  const std::vector<std::int64_t> strides = dense_strides(tensor);
  if (strides.size() == tensor.sizes().size()) {
    std::memcpy(to, from, bytes);
    return copy.as_strided(tensor.sizes(), strides, 0);
  }
  gather(tensor, 0, from, to);
  return copy;
}

std::vector<std::int64_t> to_ints(PyObject* tuple) {
  std::vector<std::int64_t> ints;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    const long long each = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i));
    if (each == -1 && PyErr_Occurred() != nullptr) throw PythonErrorSet();
    ints.push_back(each);
  }
  return ints;
}
std::vector<std::int64_t> to_sizes(PyObject* shape) {
  std::vector<std::int64_t> sizes = to_ints(shape);
  for (const std::int64_t size : sizes) {
    if (size < 0) fail(ErrorKind::BadValue, "a pickled tensor has a size below zero");
  }
  return sizes;
}

// The row-major strides of sizes whose elements take `bytes`. Raises BadValue if they do not.
std::vector<std::int64_t> require_strides(const std::vector<std::int64_t>& sizes, DType dtype,
                                          std::int64_t bytes) {
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t count = 1;
  bool fits = true;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = count;
    fits = fits && !__builtin_mul_overflow(count, sizes[i] == 0 ? 1 : sizes[i], &count);
  }
  for (const std::int64_t size : sizes) count = size == 0 ? 0 : count;
  std::int64_t needed = 0;
  fits = fits && !__builtin_mul_overflow(count, std::int64_t(item_size(dtype)), &needed);
  if (!fits || needed != bytes) {
    fail(ErrorKind::BadValue, "a pickled tensor has " + std::to_string(bytes) +
                                  " bytes of data, which is not what its shape and dtype need");
  }
  return strides;
}

}  // namespace

// tensor._duplicate()
PyObject* duplicate_tensor(PyObject* self, PyObject*) {
  return enter_from_python(
      [&] { return wrap(here(), duplicate(tensor_unchecked(self), "deepcopy")).release(); });
}

namespace {

const Operator& require_alias(std::string_view name) {
  find_aten(here(), to_text("alias").get());  // loads it
  return require_operator(name);
}

}  // namespace

Tensor call_alias(const Tensor& tensor) {
  static constinit FoundOperator<Tensor(const Tensor&)> alias("aten::alias", &require_alias);
  return alias.call(tensor);
}

// tensor.alias(): the operator aten::alias, called as C++ does, which makes no wrapper of the
// result. What it gives as a plain tensor is handed out untagged.
PyObject* untagged_alias(PyObject* self, PyObject*) {
  return enter_from_python([&] {
    Runtime& runtime = here();
    const CalledFromPython called(runtime);
    Tensor result = call_alias(tensor_unchecked(self));
    const TensorImpl& impl = *result.impl();
    const bool has_history = bool(impl.gradient_state());  // which another one would not have
    if (!has_history && impl.object_link().tag() == nullptr) {
      return wrap_untagged(runtime, std::move(result)).release();
    }
    Owned wrapped = wrap(runtime, std::move(result));
    if (has_history || Py_TYPE(wrapped.get()) != runtime.tensor_type) return wrapped.release();
    return wrap_untagged(runtime, tensor_unchecked(wrapped.get()).alias()).release();
  });
}

// tensor._alias()
PyObject* alias_tensor(PyObject* self, PyObject*) {
  return enter_from_python([&] {
    const GradientModeGuard off(GradientMode::NoGradients);
    return wrap(here(), tensor_unchecked(self).alias()).release();
  });
}

// tensor._bytes(): the elements in row-major order, as a tensor of uint8; on the same memory if
// they are so.
PyObject* bytes_of_tensor(PyObject* self, PyObject*) {
  return enter_from_python([&] {
    const Tensor& tensor = tensor_unchecked(self);
    const std::byte* const from = require_readable(tensor, "pickle");
    const std::int64_t bytes = tensor.numel() * std::int64_t(item_size(tensor.dtype()));
    if (bytes != 0 && tensor.is_contiguous()) {
      auto* const held = new Tensor(tensor);
      return wrap(here(), Tensor::adopt(
                              const_cast<std::byte*>(from), {{bytes}}, {{1}}, DType::UInt8, {},
                              held, [](void* owner) { delete static_cast<Tensor*>(owner); },
                              tensor.impl()->storage()->read_only()))
          .release();
    }
    Tensor copy = Tensor::empty({{bytes}}, DType::UInt8);
    if (bytes != 0) gather(tensor, 0, from, static_cast<std::byte*>(copy.mutable_raw()));
    return wrap(here(), std::move(copy)).release();
  });
}

// tensor._typed(dtype, shape): the bytes of a tensor of uint8, as such elements on the same memory.
PyObject* typed_tensor(PyObject* self, PyObject* args) {
  return enter_from_python([&] {
    Runtime& runtime = here();
    PyObject* dtype = nullptr;
    PyObject* shape = nullptr;
    if (PyArg_ParseTuple(args, "O!O!", runtime.dtype_type, &dtype, &PyTuple_Type, &shape) == 0) {
      throw PythonErrorSet();
    }
    const Tensor& bytes = tensor_unchecked(self);
    const DType type = reinterpret_cast<DTypeObject*>(dtype)->dtype;
    const std::vector<std::int64_t> sizes = to_sizes(shape);
    const std::vector<std::int64_t> strides = require_strides(sizes, type, bytes.numel());
    auto* const held = new Tensor(bytes);
    return wrap(runtime, Tensor::adopt(
                             const_cast<void*>(bytes.raw()), sizes, strides, type, {}, held,
                             [](void* owner) { delete static_cast<Tensor*>(owner); },
                             bytes.impl()->storage()->read_only()))
        .release();
  });
}

// tensor._memory_key(): what the tensors on one memory have in common, an int; None for memory that
// no other tensor is on, or that is not the tensor's own to copy.
PyObject* memory_key(PyObject* self, PyObject*) {
  return enter_from_python([&]() -> PyObject* {
    const Tensor& tensor = tensor_unchecked(self);
    const Storage& storage = *tensor.impl()->storage();
    const bool is_shared = storage.owner_count() > 1 && storage.data() != nullptr &&
                           storage.device().is_cpu() && !storage.is_borrowed();
    if (!is_shared) Py_RETURN_NONE;
    return PyLong_FromVoidPtr(const_cast<Storage*>(&storage));
  });
}

// tensor._memory(): the whole memory, as a tensor of uint8 on it.
PyObject* whole_memory(PyObject* self, PyObject*) {
  return enter_from_python([&] {
    const Tensor& tensor = tensor_unchecked(self);
    static_cast<void>(require_readable(tensor, "pickle"));
    const CountedPtr<Storage>& storage = tensor.impl()->storage();
    const std::int64_t bytes = std::int64_t(storage->bytes());
    return wrap(here(), Tensor(make_counted<TensorImpl>(storage, DType::UInt8, IntSpan(&bytes, 1),
                                                        IntSpan(&kOne, 1), 0,
                                                        Tensor::empty({}, DType::UInt8).keys())))
        .release();
  });
}

// memory._elements(dtype, shape, strides, offset): such elements on the memory of another tensor.
PyObject* elements_on_memory(PyObject* self, PyObject* args) {
  return enter_from_python([&] {
    Runtime& runtime = here();
    PyObject* dtype = nullptr;
    PyObject* shape = nullptr;
    PyObject* steps = nullptr;
    long long offset = 0;
    if (PyArg_ParseTuple(args, "O!O!O!L", runtime.dtype_type, &dtype, &PyTuple_Type, &shape,
                         &PyTuple_Type, &steps, &offset) == 0) {
      throw PythonErrorSet();
    }
    const DType type = reinterpret_cast<DTypeObject*>(dtype)->dtype;
    const std::vector<std::int64_t> sizes = to_sizes(shape);
    const std::vector<std::int64_t> strides = to_ints(steps);
    const CountedPtr<Storage>& storage = tensor_unchecked(self).impl()->storage();
    if (reinterpret_cast<std::uintptr_t>(storage->data()) %
            std::min<std::size_t>(item_size(type), 8) !=
        0) {
      fail(ErrorKind::BadValue, "a pickled tensor is at an address that is none of its elements");
    }
    auto elements = make_counted<TensorImpl>(storage, type, sizes, strides, offset,
                                             Tensor::empty({}, type).keys());
    elements->detach();  // no view of what else is on the memory, which may be a leaf by now
    return wrap(runtime, Tensor(std::move(elements))).release();
  });
}

// empty_meta(dtype, shape): a tensor without memory.
PyObject* empty_meta(PyObject* module, PyObject* args) {
  return enter_from_python([&] {
    Runtime& runtime = runtime_of_module(module);
    PyObject* dtype = nullptr;
    PyObject* shape = nullptr;
    if (PyArg_ParseTuple(args, "O!O!", runtime.dtype_type, &dtype, &PyTuple_Type, &shape) == 0) {
      throw PythonErrorSet();
    }
    return wrap(runtime,
                Tensor::empty(to_sizes(shape), reinterpret_cast<DTypeObject*>(dtype)->dtype,
                              parse_device("meta")))
        .release();
  });
}

// tensor.__copy__(), __deepcopy__(memo), __reduce_ex__(protocol)
PyObject* copy_tensor(PyObject* self, PyObject*) {
  return enter_from_python(
      [&] { return PyObject_CallOneArg(require_hook(here(), hook::copy), self); });
}
PyObject* deepcopy_tensor(PyObject* self, PyObject* memo) {
  return enter_from_python([&] {
    return PyObject_CallFunctionObjArgs(require_hook(here(), hook::deepcopy), self, memo, nullptr);
  });
}
PyObject* reduce_tensor(PyObject* self, PyObject* protocol) {
  return enter_from_python([&] {
    return PyObject_CallFunctionObjArgs(require_hook(here(), hook::reduce), self, protocol,
                                        nullptr);
  });
}

}  // namespace opyard::python
