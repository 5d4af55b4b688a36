// gradients/call_keys.cpp: what a compiled function's call looks like, as bytes, and its tensors.
//
// Two calls with equal bytes may run the same graph. In these are: whether gradients are recorded,
// the thread's dispatch keys, and each thing among the arguments and among what the function sees
// from outside (`outer`), in order:
//
//   a Tensor               dtype, device, sizes, strides, whether it requires a gradient, what a
//                          user noted at it; or "the third one again"
//   a plain value          its type and value
//   a container            its type, its keys, what is in it
//   an object with state   a Module, or the object of a method: its type, and its attributes
//   anything else          among arguments a reason not to compile; elsewhere its address
//
// [Held] Addresses mean something only as long as the objects live: who stores the bytes has to
// hold the objects, too. They are given if asked for.
//
// Threads: called with the GIL held. An object that a second thread changes meanwhile is not looked
// at half: nothing here runs code of a user.
#include "gradients/gradients.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>

#include "opyard/jit/trace.h"
#include "opyard/keys/gradient_mode.h"
#include "opyard/keys/local.h"
#include "opyard/thread/modes.h"
#include "runtime/look_up.h"

namespace opyard::gradients {
namespace {

constexpr int kDeepest = 64;

// Bytes that are appended a few at a time, up to a kilobyte in place.
class Bytes {
 public:
  Bytes() = default;
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  void add(const void* from, std::size_t count) {
    if (__builtin_expect(size_ + count > capacity_, 0)) grow(count);
    std::memcpy(data_ + size_, from, count);
    size_ += count;
  }
  void operator+=(char one) { add(&one, 1); }
  const char* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

 private:
  void grow(std::size_t count) {
    std::string more;
    more.reserve(2 * (size_ + count));
    more.assign(data_, size_);
    more.resize(more.capacity());
    more_ = std::move(more);
    data_ = more_.data();
    capacity_ = more_.size();
  }

  std::array<char, 1024> first_;
  std::string more_;
  char* data_ = first_.data();
  std::size_t size_ = 0, capacity_ = first_.size();
};

// Numbers of addresses, in the order in which they came. Most calls have few.
class Numbers {
 public:
  // The number, and whether the address is new.
  std::pair<std::uint32_t, bool> add(const void* address) {
    const void** const end = few_.data() + count_;
    if (const void** const found = std::find(few_.data(), end, address); found != end) {
      return {std::uint32_t(found - few_.data()), false};
    }
    if (count_ < few_.size()) {
      few_[count_] = address;
      return {std::uint32_t(count_++), true};
    }
    const auto next = std::uint32_t(few_.size() + many_.size());
    const auto [found, is_new] = many_.try_emplace(address, next);
    return {found->second, is_new};
  }

 private:
  std::array<const void*, 16> few_;
  std::size_t count_ = 0;
  std::unordered_map<const void*, std::uint32_t> many_;
};

struct CallKeys {
  py::object tensor, parameter, module;  // the types
  py::tuple plain;                       // types of values that are known by their texts
};

class Description {
 public:
  Description(const PythonTable& known, const CallKeys& types, PyObject* held)
      : known_(known), types_(types), held_(held) {}

  Bytes bytes;
  py::list tensors;
  std::string refusal;  // why the call cannot be described

  void add_thread() {
    bytes += char(gradient_mode());
    add_raw(local_keys());
  }
  // `where` names the argument in a refusal.
  bool add_argument(PyObject* object, const std::string& where) {
    return add(object, true, 0, where);
  }
  bool add_outer(PyObject* object) { return add(object, false, 0, "a name outside"); }

 private:
  template <typename T>
  void add_raw(const T& value) {
    bytes.add(&value, sizeof(T));
  }
  bool refuse(std::string why) {
    refusal = std::move(why);
    return false;
  }
  static bool is_named_tuple(PyTypeObject* type) {
    const int has = python::has_attribute(reinterpret_cast<PyObject*>(type), "_fields");
    if (has < 0) throw py::error_already_set();
    return has != 0;
  }
  void add_address(PyObject* object) {
    add_raw(object);
    if (held_ != nullptr && PyList_Append(held_, object) != 0) throw py::error_already_set();
  }
  void add_text(PyObject* text) {
    Py_ssize_t size = 0;
    const char* const data = PyUnicode_AsUTF8AndSize(text, &size);
    if (data == nullptr) throw py::error_already_set();
    add_raw(size);
    bytes.add(data, std::size_t(size));
  }

  bool add(PyObject* object, bool is_argument, int depth, const std::string& where) {
    PyTypeObject* const type = Py_TYPE(object);
    if (add_builtin(object, type)) return true;
    if (PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(types_.tensor.ptr()))) {
      return add_tensor(object, depth, where);
    }
    if (add_known(object, type)) return true;
    if (depth > kDeepest) return refuse(where + " is nested deeper than 64 containers");
    if (type == &PyTuple_Type || type == &PyList_Type)
      return add_sequence(object, is_argument, depth, where);
    if (PyTuple_Check(object) && is_named_tuple(type)) {
      return add_sequence(object, is_argument, depth, where);
    }
    if (type == &PyDict_Type) return add_dict(object, is_argument, depth, where);
    if (PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(types_.module.ptr()))) {
      return add_state(object, depth);
    }
    if (is_argument) {
      return refuse(where + " is of type " + type->tp_name +
                    "; accepted are Tensors, Modules, plain values, and lists, tuples and dicts "
                    "of them");
    }
    bytes += 'A';
    add_address(object);
    return true;
  }

  bool add_tensor(PyObject* object, int depth, const std::string& where) {
    PyTypeObject* const type = Py_TYPE(object);
    if (reinterpret_cast<PyObject*>(type) != types_.tensor.ptr() &&
        reinterpret_cast<PyObject*>(type) != types_.parameter.ptr()) {
      return refuse(where + " is of the class " + type->tp_name +
                    ", which may have operators of its own");
    }
    const Tensor& tensor = tensor_of(object);
    const TensorImpl& impl = *tensor.impl();
    if (impl.policies() != 0 || tensor.keys().has(DispatchKey::Python)) {
      return refuse(where + " has sizes or operators that are defined in Python");
    }
    const auto [number, is_new] = numbers_.add(&impl);
    bytes += is_new ? 'T' : 'R';
    if (!is_new) {
      add_raw(number);
      return true;
    }
    tensors.append(py::reinterpret_borrow<py::object>(object));
    add_raw(tensor.dtype());
    add_raw(tensor.keys().raw());
    add_raw(tensor.device().backend);
    add_raw(tensor.device().index);
    bytes += autograd::requires_gradient(tensor) ? '1' : '0';
    bytes += impl.has_mark(TensorImpl::kInference) ? '1' : '0';
    bytes += char(tensor.sizes().size());
    for (const std::int64_t size : tensor.sizes()) add_raw(size);
    for (const std::int64_t stride : tensor.strides()) add_raw(stride);
    PyObject* const attributes = attributes_of(object);
    bytes += attributes == nullptr ? '0' : '1';
    return attributes == nullptr || add_dict(attributes, false, depth + 1, "an attribute");
  }
  // Borrowed; null if nothing was noted at the tensor, which then has no dictionary.
  static PyObject* attributes_of(PyObject* tensor) {
    auto* const bytes = reinterpret_cast<std::byte*>(tensor);
    PyObject* const found = *reinterpret_cast<PyObject**>(bytes + Py_TYPE(tensor)->tp_dictoffset);
    return found == nullptr || PyDict_GET_SIZE(found) == 0 ? nullptr : found;
  }

  bool add_plain(PyObject* object, PyTypeObject* type) {
    return add_builtin(object, type) || add_known(object, type);
  }
  bool add_builtin(PyObject* object, PyTypeObject* type) {
    if (object == Py_None || type == &PyBool_Type) {
      bytes += object == Py_None ? 'N' : object == Py_True ? 't' : 'f';
      return true;
    }
    if (type == &PyFloat_Type) {
      bytes += 'F';
      add_raw(PyFloat_AS_DOUBLE(object));
      return true;
    }
    if (type == &PyUnicode_Type) {
      bytes += 'S';
      add_text(object);
      return true;
    }
    if (type == &PyLong_Type) {
      int overflow = 0;
      const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
      if (overflow == 0) {
        bytes += 'I';
        add_raw(value);
        return true;
      }
    }
    return false;
  }
  bool add_known(PyObject* object, PyTypeObject* type) {
    for (const py::handle one : types_.plain) {
      if (reinterpret_cast<PyObject*>(type) != one.ptr()) continue;
      bytes += 'P';
      add_raw(type);
      const py::object text = take_result(PyObject_Repr(object));
      add_text(text.ptr());
      return true;
    }
    return false;
  }

  bool add_sequence(PyObject* object, bool is_argument, int depth, const std::string& where) {
    bytes += PyList_Check(object) ? 'L' : 'U';
    add_address(reinterpret_cast<PyObject*>(Py_TYPE(object)));
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
    add_raw(count);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
      const py::object item =
          py::reinterpret_borrow<py::object>(PySequence_Fast_GET_ITEM(object, i));
      if (!add(item.ptr(), is_argument, depth + 1, where)) return false;
    }
    return true;
  }

  bool add_dict(PyObject* object, bool is_argument, int depth, const std::string& where) {
    bytes += 'D';
    add_raw(PyDict_GET_SIZE(object));
    Py_ssize_t at = 0;
    PyObject *key = nullptr, *value = nullptr;
    while (PyDict_Next(object, &at, &key, &value) != 0) {
      // Of a Module, which buffers a state leaves out: no call depends on it.
      if (!is_argument && PyUnicode_Check(key) &&
          PyUnicode_CompareWithASCIIString(key, "_not_saved") == 0) {
        continue;
      }
      if (!add_plain(key, Py_TYPE(key))) {
        if (is_argument) {
          return refuse(where + " has a key of type " + Py_TYPE(key)->tp_name +
                        "; accepted are plain values");
        }
        bytes += 'A';
        add_address(key);
      }
      const py::object item = py::reinterpret_borrow<py::object>(value);
      if (!add(item.ptr(), is_argument, depth + 1, where)) return false;
    }
    return true;
  }

 public:
  // An object with attributes: parts that are Modules are looked into, other objects are not.
  bool add_state(PyObject* object, int depth) {
    const auto [number, is_new] = objects_.add(object);
    bytes += is_new ? 'M' : 'm';
    if (!is_new) {
      add_raw(number);
      return true;
    }
    add_address(reinterpret_cast<PyObject*>(Py_TYPE(object)));
    const py::object attributes =
        py::reinterpret_steal<py::object>(PyObject_GenericGetDict(object, nullptr));
    if (!attributes) throw py::error_already_set();
    return add_dict(attributes.ptr(), false, depth + 1, "an attribute");
  }

 private:
  const PythonTable& known_;
  const CallKeys& types_;
  PyObject* const held_;
  Numbers numbers_;  // of tensors
  Numbers objects_;
};

// describe(outer, self, args, kwargs, held): (bytes, tensors); a text that says why not; or None in
// a trace. `held` is None, or a list for what [Held] says.
PyObject* describe(const CallKeys& types, PyObject* const* given) {
  if (jit::current_trace() != nullptr) return Py_NewRef(Py_None);
  Description description(table(), types, given[4] == Py_None ? nullptr : given[4]);
  description.add_thread();
  if (!thread_modes().empty()) {
    return PyUnicode_FromString("was called in a mode, which sees each operator");
  }
  bool is_good = given[1] == Py_None || description.add_state(given[1], 0);
  for (Py_ssize_t i = 0; is_good && i < PyTuple_GET_SIZE(given[0]); ++i) {
    is_good = description.add_outer(PyTuple_GET_ITEM(given[0], i));
  }
  for (Py_ssize_t i = 0; is_good && i < PyTuple_GET_SIZE(given[2]); ++i) {
    is_good =
        description.add_argument(PyTuple_GET_ITEM(given[2], i), "argument " + std::to_string(i));
  }
  if (is_good) is_good = description.add_argument(given[3], "an argument by name");
  if (!is_good) {
    return PyUnicode_FromStringAndSize(description.refusal.data(),
                                       Py_ssize_t(description.refusal.size()));
  }
  const py::bytes key(description.bytes.data(), description.bytes.size());
  return PyTuple_Pack(2, key.ptr(), description.tensors.ptr());
}

PyObject* call(PyObject* self, PyObject* args, PyObject*) {
  if (PyTuple_GET_SIZE(args) != 5) {
    PyErr_SetString(PyExc_TypeError, "CallKeys takes outer, self, args, kwargs and held");
    return nullptr;
  }
  auto* const instance = reinterpret_cast<py::detail::instance*>(self);
  const auto& types = *static_cast<CallKeys*>(instance->simple_value_holder[0]);
  try {
    return describe(types, PySequence_Fast_ITEMS(args));
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const Error& error) {
    table().raise(&table(), &error);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  }
  return nullptr;
}

}  // namespace

void add_call_keys(py::module_& module) {
  py::class_<CallKeys>(module, "CallKeys", py::custom_type_setup([](PyHeapTypeObject* type) {
                         type->ht_type.tp_call = &call;
                       }))
      .def(py::init(
               [](py::object tensor, py::object parameter, py::object of_modules, py::tuple plain) {
                 return CallKeys{std::move(tensor), std::move(parameter), std::move(of_modules),
                                 std::move(plain)};
               }),
           py::arg("tensor"), py::arg("parameter"), py::arg("module"), py::arg("plain"));
}

}  // namespace opyard::gradients
