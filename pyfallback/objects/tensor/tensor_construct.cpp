// objects/tensor/tensor_construct.cpp: opyard.tensor(data): numbers and nested sequences of them.
//
// Overview. The data is read once, into a flat list of numbers, while its shape is found: the
// first elements decide how deep it goes and how long each level is, and all others must agree.
// Then the dtype is chosen and the numbers are written. Python code that runs meanwhile (an
// __index__, a sequence's __getitem__) may change the data; each level is read from a list or
// tuple of ours, and every item is held while it is read.
#include "objects/arrays/buffer_source.h"
#include "objects/arrays/foreign_kind.h"
#include "objects/arrays/numpy_types.h"
#include "objects/tensor/aten.h"
#include "objects/tensor/tensor_parts.h"
#include "objects/tensor/traced_read.h"
#include "objects/values/dtype.h"
#include "objects/values/element.h"
#include "objects/values/integer.h"
#include "opyard/base/warning.h"
#include "opyard/detail/python/clear.h"
#include "opyard/detail/python/look_up.h"
#include "opyard/detail/tensor/gradient_functions.h"
#include "opyard/keys/gradient_mode.h"
#include "runtime/hooks.h"
#include "runtime/keywords.h"
#include "runtime/require_stack.h"
#include "runtime/types.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace opyard::python {
namespace {

constexpr std::size_t kMostNestedDims = 64;

// Whether it is an array of another library. Lists and numbers are not asked.
bool is_exchangeable(Runtime& runtime, PyObject* data) {
  if (PyList_Check(data) || PyTuple_Check(data) || PyLong_Check(data) || PyFloat_Check(data)) {
    return false;
  }
  if (foreign_kind_of(runtime, Py_TYPE(data)).way == ForeignWay::Table) return true;
  const int has = has_attribute(data, "__dlpack__");
  if (has < 0) throw PythonErrorSet();
  return has != 0;
}

// The elements of an array of another library, copied; null for all else.
Owned copy_array(Runtime& runtime, PyObject* data) {
  if (PyObject_CheckBuffer(data) != 0) {
    const Owned copy =
        require_only_memory(find_beyond_memory(runtime, Py_TYPE(data)), data, "tensor: ");
    return wrap(runtime, BufferSource(copy ? copy.get() : data, "tensor").copy());
  }
  if (!is_exchangeable(runtime, data)) return {};
  const Owned shared = wrap(runtime, take_dlpack(runtime, data));
  return call_aten(runtime, AtenName::clone, {shared.get()});
}

bool needs_gradient(const Tensor& tensor) noexcept {
  const auto* const functions = detail::gradient_functions.load(std::memory_order_acquire);
  return functions != nullptr && gradient_mode() == GradientMode::Gradients &&
         functions->needs(tensor);
}

class Reader {
 public:
  // Ints above int64 are read if the elements may be uint64.
  Reader(Runtime& runtime, bool reads_uint64) : runtime_(runtime), reads_uint64_(reads_uint64) {}

  void read(PyObject* data) {
    if (const std::optional<Number> number = find_number(data)) return add(*number);
    if (is_sequence(data)) {
      if (read_level(data)) return;  // else an array without dimensions, which looks like one
    } else if (!is_exchangeable(runtime_, data)) {
      refuse(data);
    }
    const Owned only = copy_array(runtime_, data);
    if (!only || tensor_unchecked(only.get()).dim() != 0) refuse(data);
    add(*find_number(only.get()));
  }

  IntSpan sizes() const { return sizes_; }

  // bool, int64, float32 or complex64: the first that holds every kind of number that came.
  DType dtype() const {
    if (numbers_.empty()) return DType::Float32;
    switch (std::max_element(numbers_.begin(), numbers_.end(), [](Number a, Number b) {
              return a.kind < b.kind;
            })->kind) {
      case Number::Kind::Bool:
        return DType::Bool;
      case Number::Kind::Int:
        return DType::Int64;
      case Number::Kind::Float:
        return DType::Float32;
      case Number::Kind::Complex:
        return DType::ComplexFloat;
    }
    return DType::Float32;
  }

  Tensor write(DType dtype) const {
    if (loses_gradient_) {
      warn_at_once(
          WarningKind::User,
          "tensor: an element is a tensor that requires a gradient, and none flows through "
          "a number that is copied; join them by opyard.ops.aten.stack(), or give "
          "x.detach()");
    }
    const Tensor tensor = Tensor::empty(sizes_, dtype);
    auto* element =
        static_cast<std::byte*>(tensor.impl()->data());  // its first write is not counted
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      const std::string fault = store_number(dtype, numbers_[i], element);
      if (!fault.empty()) {
        fail(ErrorKind::BadValue,
             "tensor: " + place_of(i) + " is " + to_text_of(numbers_[i]) + " and " + fault);
      }
      element += item_size(dtype);
    }
    return tensor;
  }

 private:
  [[noreturn]] void refuse(PyObject* data) const {
    fail(ErrorKind::BadArgument,
         "tensor: " + place() + " is a " + Py_TYPE(data)->tp_name +
             "; accepted are bool, int, float, complex and sequences of them");
  }

  void add(Number number) {
    require_leaf();
    numbers_.push_back(number);
  }

  // Gives false if it has no items.
  bool read_level(PyObject* data) {
    require_unmasked(data, "tensor");
    const std::size_t depth = path_.size();
    const Owned items = Owned::steal(PySequence_Fast(data, ""));
    if (!items) {
      if (!clear_if(PyExc_TypeError)) throw PythonErrorSet();
      return false;
    }
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.get());
    require_length(depth, count);
    path_.push_back(0);
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (i >= PySequence_Fast_GET_SIZE(items.get())) {
        fail(ErrorKind::BadValue, "tensor: the data became shorter while it was read");
      }
      path_.back() = i;
      const Owned item = Owned::share(PySequence_Fast_GET_ITEM(items.get(), i));
      read(item.get());
    }
    path_.pop_back();
    if (count == 0) deepest_ = true;  // nothing is below, so other branches end here too
    return true;
  }

  // Every level has the length of the first one at its depth.
  void require_length(std::size_t depth, Py_ssize_t count) {
    if (depth == sizes_.size() && !deepest_) {
      if (depth == kMostNestedDims) {
        fail(ErrorKind::BadValue, "tensor: the data is nested more than " +
                                      std::to_string(kMostNestedDims) + " levels deep");
      }
      sizes_.push_back(count);
      return;
    }
    if (depth >= sizes_.size()) {
      fail(ErrorKind::BadValue, "tensor: the data is ragged: " + place() +
                                    " is a sequence where the elements before it are numbers");
    }
    if (sizes_[depth] != count) {
      fail(ErrorKind::BadValue, "tensor: the data is ragged: " + place() + " has length " +
                                    std::to_string(count) + " where those before it have length " +
                                    std::to_string(sizes_[depth]));
    }
  }

  void require_leaf() {
    if (path_.size() < sizes_.size()) {
      fail(ErrorKind::BadValue, "tensor: the data is ragged: " + place() +
                                    " is a number where the elements before it are sequences");
    }
    deepest_ = true;
  }

  bool is_sequence(PyObject* data) const {
    return PySequence_Check(data) != 0 && !PyUnicode_Check(data) && !PyBytes_Check(data) &&
           !PyByteArray_Check(data);
  }

  // The number that an object is; none for sequences and all the rest.
  std::optional<Number> find_number(PyObject* data) {
    if (PyBool_Check(data)) return Number::of_bool(data == Py_True);
    if (PyFloat_Check(data)) return Number::of_float(PyFloat_AS_DOUBLE(data));
    if (PyLong_Check(data)) return integer(data);
    if (PyComplex_Check(data)) {
      return Number::of_complex(PyComplex_RealAsDouble(data), PyComplex_ImagAsDouble(data));
    }
    if (is_number(data)) return find_number(plain_number(data).get());
    if (is_tensor(runtime_, data) && tensor_unchecked(data).dim() == 0) {
      loses_gradient_ = loses_gradient_ || needs_gradient(tensor_unchecked(data));
      return find_number(only_element(data, "tensor").get());
    }
    return std::nullopt;
  }

  Number integer(PyObject* data) const {
    if (const std::optional<std::int64_t> value = find_int64(data)) return Number::of_int(*value);
    if (const auto above = reads_uint64_ ? find_uint64_above(data) : std::nullopt) {
      return Number::of_uint64(*above);
    }
    fail(ErrorKind::BadValue, "tensor: " + place() + " is the int " + shown(data) +
                                  "; accepted are ints from " + kInt64Range + ", and floats");
  }

  // "data[1][0]"
  static std::string place_at(IntSpan path) {
    std::string text = "data";
    for (const std::int64_t index : path)
      text.append("[").append(std::to_string(index)).append("]");
    return text;
  }
  std::string place() const { return place_at(path_); }
  std::string place_of(std::size_t flat) const {
    std::vector<std::int64_t> path(sizes_.size());
    for (std::size_t i = path.size(); i-- > 0;) {
      path[i] = std::int64_t(flat % std::size_t(sizes_[i]));
      flat /= std::size_t(sizes_[i]);
    }
    return place_at(path);
  }

  static std::string to_text_of(Number number) {
    if (number.is_above) return std::to_string(std::uint64_t(number.integer));
    if (number.kind < Number::Kind::Float) return std::to_string(number.integer);
    const Owned object = checked(number.kind == Number::Kind::Float
                                     ? PyFloat_FromDouble(number.real)
                                     : PyComplex_FromDoubles(number.real, number.imaginary));
    const Owned text = checked(PyObject_Repr(object.get()));
    return std::string(require_text(text.get(), "a number's repr"));
  }

  Runtime& runtime_;
  const bool reads_uint64_;
  std::vector<Number> numbers_;
  DimVector sizes_;
  std::vector<std::int64_t> path_;  // if the reader is
  bool deepest_ = false;            // sizes_ is complete
  bool loses_gradient_ = false;     // an element is a tensor that requires one
};

Owned convert(Runtime& runtime, Owned tensor, PyObject* dtype) {
  const DType wanted = reinterpret_cast<DTypeObject*>(dtype)->dtype;
  if (tensor_unchecked(tensor.get()).dtype() == wanted) return tensor;
  return call_aten(runtime, AtenName::to, {tensor.get(), dtype});
}

Owned construct_from(PyObject* module, PyObject* data, PyObject* dtype) {
  Runtime& runtime = runtime_of_module(module);
  Owned copied;
  if (is_tensor(runtime, data)) {
    copied = call_aten(runtime, AtenName::clone, {data});
  } else if (dtype == Py_None || !is_number(data)) {  // a number of NumPy has to fit the dtype
    copied = copy_array(runtime, data);
  }
  if (!copied) {
    Reader reader(runtime, dtype != Py_None);
    reader.read(data);
    const DType chosen =
        dtype == Py_None ? reader.dtype() : reinterpret_cast<DTypeObject*>(dtype)->dtype;
    return wrap(runtime, reader.write(chosen));
  }
  return dtype == Py_None ? std::move(copied) : convert(runtime, std::move(copied), dtype);
}

}  // namespace

namespace {

// A dtype, None, or what else names one: see _tensor/dtypes.py.
Owned require_dtype_object(Runtime& runtime, PyObject* dtype) {
  if (dtype == Py_None || is_dtype(runtime, dtype)) return Owned::share(dtype);
  return checked(PyObject_CallOneArg(require_hook(runtime, hook::require_dtype), dtype));
}

Device device_or_cpu(Runtime& runtime, PyObject* device) {
  if (device == Py_None) return {};
  if (is_device(runtime, device)) return reinterpret_cast<DeviceObject*>(device)->device;
  if (!PyUnicode_Check(device)) {
    fail(ErrorKind::BadArgument, std::string("tensor: device is a ") + Py_TYPE(device)->tp_name +
                                     "; accepted are a device, its name such as 'cpu', and None");
  }
  return parse_device(require_text(device, "tensor: device"));
}

// Elements are made on the CPU; of them a tensor on meta has the sizes and the dtype.
Owned on_device(Runtime& runtime, Owned made, Device device) {
  if (device.is_cpu()) return made;
  if (device.backend != Backend::Meta) {
    fail(ErrorKind::Unsupported,
         "tensor: device is '" + to_string(device) +
             "'; elements are made on 'cpu', or left out on 'meta'; copy the "
             "tensor there with the operators of that device");
  }
  const Tensor& source = tensor_unchecked(made.get());
  return wrap(runtime, Tensor::empty(source.sizes(), source.dtype(), device));
}

}  // namespace

PyObject* construct(PyObject* module, PyObject* args, PyObject* kwargs) {
  return enter_from_python([&]() -> PyObject* {
    require_stack();
    static const char* const names[] = {"data", "dtype", "device", "requires_grad", nullptr};
    PyObject* data = nullptr;
    PyObject* dtype = Py_None;
    PyObject* device = Py_None;
    int requires_grad = 0;
    if (!parse_keywords(args, kwargs, "O|$OOp:tensor", names, &data, &dtype, &device,
                        &requires_grad)) {
      return nullptr;
    }
    Runtime& runtime = runtime_of_module(module);
    const Owned wanted = require_dtype_object(runtime, dtype);
    const Device where = device_or_cpu(runtime, device);
    Owned made = on_device(runtime, construct_from(module, data, wanted.get()), where);
    if (__builtin_expect(is_tracing_calls(), 0)) tell_trace_of_made(made.get());
    if (requires_grad != 0) {
      made = checked(PyObject_CallMethod(made.get(), "requires_grad_", nullptr));
    }
    return made.release();
  });
}

}  // namespace opyard::python
