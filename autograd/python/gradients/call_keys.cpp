// gradients/call_keys.cpp: cache keys of a compiled function's calls, and their tensors.
//
// Two calls with equal bytes may run the same graph. In these are: whether gradients are enabled,
// the thread's dispatch keys, and each thing among the arguments and among what the function sees
// from outside (`outer`), in order:
//
//   a Tensor               whether it is a Parameter, dtype, device, sizes, strides, whether it
//                          requires a gradient, what a user noted at it; or "the third one again"
//   a plain value          its type and value
//   a container            its type, its keys, what is in it
//   an object with state   a Module, or of another class of Python: its class, and its attributes
//   a class                its address and version, and the values among its attributes
//   a function, a module   its address
//   anything else          a reason not to compile
//
// The file is one piece: one class describes all of these, and its methods call each other.
//
// [Names] An object may have attributes that the function does not read, such as a logger. What is
// under a name that none of the function's code has, and is nothing of the first four lines, is
// known by its address. `names` are those that the code has; None if it makes names up.
//
// [Held] Addresses mean something only as long as the objects live: who stores the bytes has to
// hold the objects, too. They are given if asked for, and so are the objects that can be changed,
// in order: a call that puts another one in the place of one has other objects then, and the same
// bytes.
//
// Threads: called with the GIL held. An object that a second thread changes meanwhile is not looked
// at half: nothing here runs code of a user.
#include "gradients/gradients.h"

#include <cstring>

#include "gradients/call_bytes.h"
#include "gradients/object_state.h"
#include "opyard/detail/bind/classes.h"
#include "opyard/detail/bind/slot.h"
#include "opyard/detail/python/look_up.h"
#include "opyard/detail/python/python.h"
#include "opyard/inspect/inspect.h"
#include "opyard/jit/trace.h"
#include "opyard/keys/gradient_mode.h"
#include "opyard/keys/local.h"
#include "opyard/thread/modes.h"

namespace opyard::gradients {
namespace {

constexpr int kDeepest = 64;
constexpr std::size_t kMostBytes = std::size_t{16} << 20;

struct CallKeys {
  py::object tensor, parameter, module;  // the types
  py::tuple plain;                       // types of values that are known by their texts
  py::object compiled;                   // the type of compiled functions
  // Of re, whose objects never change.
  py::object pattern = py::module_::import("re").attr("Pattern");
  py::str module_key = py::str("__module__"), package = py::str("opyard.");
};

class Description {
 public:
  // `names` is a frozenset, or null: see [Names].
  Description(const CallKeys& types, PyObject* names, PyObject* held)
      : types_(types), names_(names), held_(held) {}

  Bytes bytes;
  py::list tensors;
  py::list changeable;  // see [Held]
  std::string refusal;  // why the call cannot be described
  bool any_taped = false;

  void add_thread() {
    bytes += char(gradient_mode());
    add_raw(local_keys());
  }
  // The last eight bytes: of calls that are taped, how often gradients came to be of another kind.
  void add_derivatives() {
    const std::uint64_t changes = any_taped ? inspect::derivatives_changed() : 0;
    bytes.add(&changes, sizeof(changes));
  }
  // `where` names the argument in a refusal.
  bool add_argument(PyObject* object, const std::string& where) {
    return add(object, true, 0, where);
  }
  // The value of a name that the function has from outside.
  bool add_outer(PyObject* object, PyObject* name) {
    if (add(object, false, 0, kOuter)) return true;
    if (refusal.starts_with(kOuter)) {
      refusal = "the name " + std::string(py::str(name)) + refusal.substr(kOuter.size());
    }
    return false;
  }

 private:
  static inline const std::string kOuter = "a name outside";
  static inline const std::string kAttribute = "an attribute";

  template <typename T>
  void add_raw(const T& value) {
    bytes.add(&value, sizeof(T));
  }
  bool refuse(std::string why) {
    refusal = std::move(why);
    return false;
  }
  void add_address(PyObject* object) {
    add_raw(object);
    if (held_ != nullptr && PyList_Append(held_, object) != 0) throw py::error_already_set();
  }
  void note_changeable(PyObject* object) {
    if (held_ != nullptr && PyList_Append(changeable.ptr(), object) != 0) {
      throw py::error_already_set();
    }
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
    if (bytes.size() > kMostBytes) return refuse(where + " is among too many to be compared");
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
    return add_object(object, type, depth, where);
  }

  // ---- what only names outside and attributes may be

  void add_opaque(PyObject* object) {
    bytes += 'A';
    add_address(object);
  }
  bool add_object(PyObject* object, PyTypeObject* type, int depth, const std::string& where) {
    if (PyType_Check(object)) {
      return add_class(reinterpret_cast<PyTypeObject*>(object), depth, where);
    }
    if (type == &PyFunction_Type) return add_function(object, depth);
    if (type == &PyMethod_Type) {
      bytes += 'B';
      return add(PyMethod_GET_FUNCTION(object), false, depth + 1, where) &&
             add(PyMethod_GET_SELF(object), false, depth + 1, where);
    }
    if (is_without_state(object, type)) {
      add_opaque(object);
      return true;
    }
    if (PyCFunction_Check(object)) {
      bytes += 'B';
      add_raw(PyCFunction_GET_FUNCTION(object));
      return add(PyCFunction_GET_SELF(object), false, depth + 1, where);
    }
    if (is_reached_) return add_reached(object, type, depth, where);
    add_opaque(object);
    return true;
  }

  // A function of C, a module, a descriptor of C, what Opyard has in C, or a compiled function, in
  // which the function that it is of is looked at in its stead.
  bool is_without_state(PyObject* object, PyTypeObject* type) const {
    if (PyModule_Check(object) || reinterpret_cast<PyObject*>(type) == types_.compiled.ptr()) {
      return true;
    }
    if (PyCFunction_Check(object)) {
      PyObject* const self = PyCFunction_GET_SELF(object);
      return self == nullptr || PyModule_Check(self) || PyType_Check(self) ||
             is_ours(Py_TYPE(self));
    }
    return type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type ||
           type == &PyClassMethodDescr_Type || type == &PyGetSetDescr_Type ||
           type == &PyMemberDescr_Type || type == &PyProperty_Type ||
           type == &PyStaticMethod_Type || type == &PyClassMethod_Type ||
           type == &PyBaseObject_Type ||
           reinterpret_cast<PyObject*>(type) == types_.pattern.ptr() ||
           (is_ours(type) && !slots_of(type));
  }
  bool is_ours(PyTypeObject* type) const {
    if (std::string_view(type->tp_name).starts_with("opyard.")) return true;
    if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0) return false;
    PyObject* const module = PyDict_GetItemWithError(type->tp_dict, types_.module_key.ptr());
    return module != nullptr && PyUnicode_Check(module) &&
           PyUnicode_Tailmatch(module, types_.package.ptr(), 0, 7, -1) == 1;
  }

  // Of a name that the function's code has.
  bool add_reached(PyObject* object, PyTypeObject* type, int depth, const std::string& where) {
    if (PyDict_Check(object)) {
      return add_parts(object, depth) &&
             (!PyODict_Check(object) || add_items(object, depth, where)) &&
             add_dict(object, false, depth, where);
    }
    if (PyList_Check(object) || PyTuple_Check(object)) {
      return add_parts(object, depth) && add_sequence(object, false, depth, where);
    }
    if (type == &PySet_Type || type == &PyFrozenSet_Type) return add_items(object, depth, where);
    if (type == &PyContextVar_Type) return add_context_variable(object, depth, where);
    if (type == &PyDictProxy_Type) return add_read_only_dict(object, depth, where);
    if (PyLong_Check(object) || PyFloat_Check(object) || PyUnicode_Check(object)) {
      return add_number_of_class(object, depth, where);
    }
    if (slots_of(type)) return add_state(object, depth);
    return refuse(where + " is of the class " + type->tp_name +
                  ", whose state compile() does not look into");
  }

  // What it holds in the context of this call.
  bool add_context_variable(PyObject* object, int depth, const std::string& where) {
    PyObject* value = nullptr;
    if (PyContextVar_Get(object, nullptr, &value) < 0) throw py::error_already_set();
    add_opaque(object);
    bytes += value == nullptr ? 'n' : 'v';
    const auto held = py::reinterpret_steal<py::object>(value);
    return !held || add(held.ptr(), false, depth + 1, where);
  }
  // A view of a dictionary that others may change.
  bool add_read_only_dict(PyObject* object, int depth, const std::string& where) {
    PyObject* const mapping = mapping_of(object);
    if (mapping != nullptr && PyDict_CheckExact(mapping)) {
      return add_dict(mapping, false, depth + 1, where);
    }
    return refuse(where + " is a mappingproxy of no dict, which compile() does not look into");
  }

  bool add_function(PyObject* object, int depth) {
    add_opaque(object);
    add_raw(PyFunction_GET_CODE(object));
    PyObject* const attributes = reinterpret_cast<PyFunctionObject*>(object)->func_dict;
    if (attributes == nullptr || PyDict_GET_SIZE(attributes) == 0) return true;
    const auto [number, is_new] = objects_.add(object);
    bytes += is_new ? 'M' : 'm';
    add_raw(number);
    return !is_new || add_attributes(attributes, depth + 1);
  }

  bool add_number_of_class(PyObject* object, int depth, const std::string& where) {
    bytes += 'C';
    if (PyFloat_Check(object)) {
      add_raw(PyFloat_AS_DOUBLE(object));
    } else if (PyUnicode_Check(object)) {
      add_text(object);
    } else {
      int overflow = 0;
      add_raw(PyLong_AsLongLongAndOverflow(object, &overflow));
      if (overflow != 0) return refuse(where + " is a number of more than 64 bits");
    }
    return add_parts(object, depth);
  }

  // Of a set, or the keys of a dictionary that has an order of its own.
  bool add_items(PyObject* object, int depth, const std::string& where) {
    note_changeable(object);
    bytes += 'X';
    add_raw(Py_TYPE(object));
    add_raw(PyObject_Size(object));
    const auto items = py::reinterpret_steal<py::object>(PyObject_GetIter(object));
    if (!items) throw py::error_already_set();
    for (;;) {
      const auto item = py::reinterpret_steal<py::object>(PyIter_Next(items.ptr()));
      if (!item) {
        if (PyErr_Occurred() != nullptr) throw py::error_already_set();
        return true;
      }
      if (!add(item.ptr(), false, depth + 1, where)) return false;
    }
  }

  // The class of an object, and its attributes if it has a dictionary.
  bool add_parts(PyObject* object, int depth) {
    if (!add_class(Py_TYPE(object), depth, kAttribute)) return false;
    if (!has_dictionary(Py_TYPE(object))) return true;
    return add_attributes(dictionary_of(object).ptr(), depth + 1);
  }
  // A class of C is known by its address, another one by its version, which a change of it or of a
  // base changes, and by what its values hold that can be changed.
  bool add_class(PyTypeObject* type, int depth, const std::string& where) {
    auto* const object = reinterpret_cast<PyObject*>(type);
    const auto [number, is_new] = objects_.add(type);
    bytes += is_new ? 'K' : 'k';
    if (!is_new) {
      add_raw(number);
      return true;
    }
    add_address(object);
    if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0) return true;
    if (python::tag_of_type(type) == 0) {
      // Looking up a name that `type` does not define gives the class a version.
      static_cast<void>(take_result(PyObject_GetAttrString(object, "__init__")));
    }
    const unsigned version = python::tag_of_type(type);
    if (version == 0) {
      return refuse(where + " is of the class " + type->tp_name +
                    ", which was changed so often that CPython does not count its changes");
    }
    add_raw(version);
    if (Py_TYPE(object) != &PyType_Type && !add_class(Py_TYPE(object), depth + 1, where)) {
      return false;
    }
    const Reaching reaching(*this, true);
    const auto bases = py::reinterpret_borrow<py::object>(type->tp_mro);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(bases.ptr()); ++i) {
      auto* const each = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(bases.ptr(), i));
      if ((each->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 || is_ours(each)) continue;
      if (!add_class_values(each, depth + 1)) return false;
    }
    return true;
  }
  // Functions and other descriptors of C are of the class's version, but for a function's code,
  // which can be replaced.
  bool add_class_values(PyTypeObject* type, int depth) {
    const auto is_fixed = [](const PyTypeObject* kind) {
      return kind->tp_descr_get != nullptr && is_of_c(kind);
    };
    const auto attributes = py::reinterpret_borrow<py::object>(type->tp_dict);
    Py_ssize_t at = 0;
    PyObject *key = nullptr, *value = nullptr;
    while (PyDict_Next(attributes.ptr(), &at, &key, &value) != 0) {
      if (PyFunction_Check(value)) add_raw(PyFunction_GET_CODE(value));
      if (is_fixed(Py_TYPE(value)) || !PyUnicode_Check(key) || !is_read(key)) continue;
      if (PyUnicode_CompareWithASCIIString(key, "_abc_impl") == 0) continue;
      const py::object item = py::reinterpret_borrow<py::object>(value);
      if (!add(item.ptr(), false, depth + 1, kAttribute)) return false;
    }
    return true;
  }
  // See [Names].
  class Reaching {
   public:
    Reaching(Description& of, bool is_reached) : of_(of), before_(of.is_reached_) {
      of.is_reached_ = is_reached;
    }
    Reaching(const Reaching&) = delete;
    Reaching& operator=(const Reaching&) = delete;
    ~Reaching() { of_.is_reached_ = before_; }

   private:
    Description& of_;
    const bool before_;
  };
  bool is_read(PyObject* name) const {
    if (names_ == nullptr) return true;
    const int found = PySet_Contains(names_, name);
    if (found < 0) throw py::error_already_set();
    return found != 0;
  }

  bool add_attributes(PyObject* attributes, int depth) {
    Py_ssize_t at = 0;
    PyObject *key = nullptr, *value = nullptr;
    add_raw(PyDict_GET_SIZE(attributes));
    while (PyDict_Next(attributes, &at, &key, &value) != 0) {
      // Of a Module, which buffers a state leaves out: no call depends on it.
      if (PyUnicode_Check(key) && PyUnicode_CompareWithASCIIString(key, "_not_saved") == 0)
        continue;
      const py::object name = py::reinterpret_borrow<py::object>(key);
      const py::object item = py::reinterpret_borrow<py::object>(value);
      if (!add(name.ptr(), false, depth + 1, kAttribute)) return false;
      const Reaching reaching(*this, PyUnicode_Check(name.ptr()) && is_read(name.ptr()));
      if (!add(item.ptr(), false, depth + 1, kAttribute)) return name_attribute(name.ptr());
    }
    return true;
  }
  bool name_attribute(PyObject* name) {
    if (refusal.starts_with(kAttribute)) {
      refusal = "the attribute " + std::string(py::str(name)) + refusal.substr(kAttribute.size());
    }
    return false;
  }

  // ---- tensors, plain values and containers

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
    note_changeable(object);
    const auto [number, is_new] = numbers_.add(&impl);
    bytes += is_new ? 'T' : 'R';
    if (!is_new) {
      add_raw(number);
      return true;
    }
    tensors.append(py::reinterpret_borrow<py::object>(object));
    bytes += reinterpret_cast<PyObject*>(type) == types_.parameter.ptr() ? '1' : '0';
    add_raw(tensor.dtype());
    add_raw(tensor.keys().raw());
    add_raw(tensor.device().backend);
    add_raw(tensor.device().index);
    const bool is_taped = autograd::requires_gradient(tensor);
    bytes += is_taped ? '1' : '0';
    any_taped |= is_taped;
    bytes += impl.has_mark(TensorImpl::kInference) ? '1' : '0';
    bytes += char(tensor.sizes().size());
    for (const std::int64_t size : tensor.sizes()) add_raw(size);
    for (const std::int64_t stride : tensor.strides()) add_raw(stride);
    PyObject* const attributes = attributes_of(object);
    bytes += attributes == nullptr ? '0' : '1';
    return attributes == nullptr || add_attributes(attributes, depth + 1);
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
    if (!PyTuple_Check(object)) note_changeable(object);
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
    note_changeable(object);
    bytes += 'D';
    add_raw(PyDict_GET_SIZE(object));
    Py_ssize_t at = 0;
    PyObject *key = nullptr, *value = nullptr;
    while (PyDict_Next(object, &at, &key, &value) != 0) {
      if (!add_plain(key, Py_TYPE(key))) {
        if (is_argument) {
          return refuse(where + " has a key of type " + Py_TYPE(key)->tp_name +
                        "; accepted are plain values");
        }
        add_opaque(key);
      }
      const py::object item = py::reinterpret_borrow<py::object>(value);
      if (!add(item.ptr(), is_argument, depth + 1, where)) return false;
    }
    return true;
  }

 public:
  // What is called: a function, or an object.
  bool add_called(PyObject* object) {
    return Py_TYPE(object) == &PyFunction_Type ? add_function(object, 0) : add_state(object, 0);
  }
  // An object with attributes and slots.
  bool add_state(PyObject* object, int depth) {
    note_changeable(object);
    const auto [number, is_new] = objects_.add(object);
    bytes += is_new ? 'M' : 'm';
    if (!is_new) {
      add_raw(number);
      return true;
    }
    if (!add_parts(object, depth)) return false;
    const auto slots = slots_of(Py_TYPE(object));
    if (!slots) {
      return refuse(std::string("an object of the class ") + Py_TYPE(object)->tp_name +
                    " has state that compile() does not look into");
    }
    for (const Py_ssize_t place : *slots) {
      const auto value = py::reinterpret_borrow<py::object>(
          *reinterpret_cast<PyObject**>(reinterpret_cast<std::byte*>(object) + place));
      bytes += value ? '1' : '0';
      if (value && !add(value.ptr(), false, depth + 1, kAttribute)) return false;
    }
    return true;
  }

 private:
  const CallKeys& types_;
  PyObject* const names_;
  PyObject* const held_;
  bool is_reached_ = true;  // see [Names]
  Numbers numbers_;         // of tensors
  Numbers objects_;         // and classes
};

// describe((values, their names, [Names]), self, args, kwargs, held): (bytes, tensors); a text that
// says why not; or None in a trace. `held` is None, or a list for what [Held] says; then the tuple
// has the objects that can be changed as well.
PyObject* describe(const CallKeys& types, PyObject* const* given) {
  if (jit::current_trace() != nullptr) return Py_NewRef(Py_None);
  PyObject* const outer = PyTuple_GET_ITEM(given[0], 0);
  PyObject* const outer_names = PyTuple_GET_ITEM(given[0], 1);
  PyObject* const names = PyTuple_GET_ITEM(given[0], 2);
  Description description(types, names == Py_None ? nullptr : names,
                          given[4] == Py_None ? nullptr : given[4]);
  description.add_thread();
  if (!thread_modes().empty()) {
    return PyUnicode_FromString("was called in a mode, which sees each operator");
  }
  bool is_good = given[1] == Py_None || description.add_called(given[1]);
  const Py_ssize_t count = PyTuple_GET_SIZE(outer);
  description.bytes.add(&count, sizeof(count));
  for (Py_ssize_t i = 0; is_good && i < count; ++i) {
    is_good = description.add_outer(PyTuple_GET_ITEM(outer, i), PyList_GET_ITEM(outer_names, i));
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
  description.add_derivatives();
  const py::bytes key(description.bytes.data(), description.bytes.size());
  return PyTuple_Pack(given[4] == Py_None ? 2 : 3, key.ptr(), description.tensors.ptr(),
                      description.changeable.ptr());
}

PyObject* call_by_key(PyObject* self, PyObject* args, PyObject*) {
  if (PyTuple_GET_SIZE(args) != 5) {
    PyErr_SetString(PyExc_TypeError, "CallKeys takes outer, self, args, kwargs and held");
    return nullptr;
  }
  auto* const instance = reinterpret_cast<py::detail::instance*>(self);
  const auto& types = *static_cast<CallKeys*>(instance->simple_value_holder[0]);
  return python::in_slot(
      [&](const PythonTable&) { return describe(types, PySequence_Fast_ITEMS(args)); });
}

}  // namespace

void add_call_keys(py::module_& module) {
  py::class_<CallKeys> keys(module, "CallKeys", py::custom_type_setup([](PyHeapTypeObject* type) {
                              type->ht_type.tp_call = &call_by_key;
                            }));
  keys.def(py::init([](py::object tensor, py::object parameter, py::object of_modules,
                       py::tuple plain, py::object compiled) {
             return CallKeys{std::move(tensor), std::move(parameter), std::move(of_modules),
                             std::move(plain), std::move(compiled)};
           }),
           py::arg("tensor"), py::arg("parameter"), py::arg("module"), py::arg("plain"),
           py::arg("compiled"));
  python::make_in_new(keys);
  python::refuse_pickling(keys);
}

}  // namespace opyard::gradients
