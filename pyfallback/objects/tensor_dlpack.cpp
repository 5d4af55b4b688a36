// objects/tensor_dlpack.cpp: DLPack in Python: capsules out, capsules and objects in.
//
// [Names] A capsule's name says its form and whether it was consumed. Whoever takes the struct
// out renames the capsule first; a capsule that dies with its first name gives the struct back.
//
//   "dltensor"            -> "used_dltensor"             DLManagedTensor
//   "dltensor_versioned"  -> "used_dltensor_versioned"   DLManagedTensorVersioned
//
// [Relay] A struct's deleter may need the GIL, or take it, while the last owner of a tensor may be
// any thread, even one that outlives Python. So the library gets a relay in its place: a copy of
// the description, whose deleter lets go of a Python object through the interpreter tag. That
// object, the keeper, calls the producer's deleter when it dies: with the GIL, at once or from the
// drop list.
//
//   Storage ──deleter──> Relay ──tag->decref──> keeper ──dies──> producer's deleter(struct)
//
// [Strides] DLPack knows strides below zero, and so does the core. In Python tensors run forwards,
// whichever way they came: slicing, from_numpy() and from_dlpack() refuse them alike, and
// opyard.tensor() copies such arrays. Where there is nowhere to go a stride means nothing, and
// becomes 1.
#include "objects/aten.h"
#include "objects/integer.h"
#include "objects/tensor_parts.h"
#include "runtime/types.h"

#include "opyard/tensor/dlpack.h"

#include <memory>
#include <optional>

namespace opyard::python {
namespace {

using dlpack::DLManagedTensor;
using dlpack::DLManagedTensorVersioned;

// See [Names].
template <typename Managed>
struct Form;
template <>
struct Form<DLManagedTensor> {
  static constexpr const char* kName = "dltensor";
  static constexpr const char* kUsed = "used_dltensor";
};
template <>
struct Form<DLManagedTensorVersioned> {
  static constexpr const char* kName = "dltensor_versioned";
  static constexpr const char* kUsed = "used_dltensor_versioned";
};

constexpr const char* kKeeper = "opyard.dlpack_keeper";

template <typename Managed>
void give_back(Managed* managed) {
  if (managed->deleter != nullptr) managed->deleter(managed);
}

// Runs a producer's deleter from a destructor, where an exception may be on its way already.
template <typename Managed>
void give_back_quietly(Managed* managed) {
  PyObject* const pending = take_exception();
  give_back(managed);
  if (PyErr_Occurred() != nullptr) PyErr_WriteUnraisable(nullptr);
  if (pending != nullptr) restore_exception(pending);
}

// ---- out ----

template <typename Managed>
void drop_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, Form<Managed>::kName) == 0) return;  // consumed
  give_back_quietly(static_cast<Managed*>(PyCapsule_GetPointer(capsule, Form<Managed>::kName)));
}

template <typename Managed>
Owned make_capsule(Managed* managed) {
  PyObject* const capsule = PyCapsule_New(managed, Form<Managed>::kName, drop_capsule<Managed>);
  if (capsule == nullptr) {
    give_back(managed);
    throw PythonErrorSet();
  }
  return Owned::steal(capsule);
}

struct ExportRequest {
  PyObject* stream = Py_None;
  PyObject* max_version = Py_None;
  PyObject* device = Py_None;
  PyObject* copy = Py_None;
};

// A pair of ints, as versions and devices are. Throws BadArgument, naming `what`.
std::pair<std::int64_t, std::int64_t> require_pair(PyObject* given, const char* what) {
  if (PyTuple_Check(given) && PyTuple_GET_SIZE(given) == 2) {
    const Owned first = checked(PyNumber_Index(PyTuple_GET_ITEM(given, 0)));
    const Owned second = checked(PyNumber_Index(PyTuple_GET_ITEM(given, 1)));
    const std::optional<std::int64_t> a = find_int64(first.get());
    const std::optional<std::int64_t> b = find_int64(second.get());
    if (a && b) return {*a, *b};
    fail(ErrorKind::BadArgument, std::string("__dlpack__: ") + what + " is " + shown(given) +
                                     "; accepted are ints from " + kInt64Range);
  }
  fail(ErrorKind::BadArgument, std::string("__dlpack__: ") + what +
                                   " must be None or a tuple of two ints, not " +
                                   Py_TYPE(given)->tp_name);
}

// Raises BadValue for what the tensor's own memory cannot satisfy.
void require_possible(const Tensor& tensor, const ExportRequest& request) {
  OPYARD_CHECK(request.stream == Py_None, BadValue,
               "__dlpack__: a stream was given; memory of the cpu has none, so it must be None");
  if (request.device == Py_None) return;
  const dlpack::DLDevice mine = dlpack_device_of(tensor);
  const auto [type, index] = require_pair(request.device, "dl_device");
  if (type != mine.device_type || index != mine.device_id) {
    fail(ErrorKind::BadValue, "__dlpack__: the tensor is on DLPack device (" +
                                  std::to_string(mine.device_type) + ", " +
                                  std::to_string(mine.device_id) + ") and is not copied to (" +
                                  std::to_string(type) + ", " + std::to_string(index) + ")");
  }
}

Owned export_tensor(PyObject* self, const ExportRequest& request) {
  Runtime& runtime = runtime_of_tensor(self);
  require_possible(tensor_unchecked(self), request);
  const bool versioned =
      request.max_version != Py_None && require_pair(request.max_version, "max_version").first >= 1;
  const int copy = request.copy == Py_None ? 0 : PyObject_IsTrue(request.copy);
  if (copy < 0) throw PythonErrorSet();
  Owned source = Owned::share(self);
  if (copy != 0) source = call_aten(runtime, AtenName::clone, {self});
  const Tensor& tensor = tensor_unchecked(source.get());
  if (!versioned) return make_capsule(to_dlpack(tensor));
  DLManagedTensorVersioned* const managed = to_dlpack_versioned(tensor);
  if (copy != 0) managed->flags |= dlpack::kIsCopied;
  return make_capsule(managed);
}

// ---- in ----

template <typename Managed>
struct Relay {
  Managed managed{};  // first: the library gets this
  PyObject* keeper = nullptr;
  Interpreter* tag = nullptr;

  static void let_go(Managed* managed) {
    const std::unique_ptr<Relay> relay(static_cast<Relay*>(managed->manager_ctx));
    relay->tag->decref(relay->keeper, false);
  }
};

template <typename Managed>
void drop_keeper(PyObject* keeper) {
  give_back_quietly(static_cast<Managed*>(PyCapsule_GetPointer(keeper, kKeeper)));
}

void describe_for_library(const DLManagedTensor& from, DLManagedTensor& to) {
  to.dl_tensor = from.dl_tensor;
}
// Of a foreign major version no more than the version may be read.
void describe_for_library(const DLManagedTensorVersioned& from, DLManagedTensorVersioned& to) {
  to.version = from.version;
  if (from.version.major != dlpack::kMajorVersion) return;
  to.flags = from.flags;
  to.dl_tensor = from.dl_tensor;
}

// See [Relay]. Until the capsule has its new name it owns the struct; from then on the keeper does.
template <typename Managed>
Tensor take_over(Runtime& runtime, PyObject* capsule) {
  auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, Form<Managed>::kName));
  auto relay = std::make_unique<Relay<Managed>>();
  Owned keeper = checked(PyCapsule_New(managed, kKeeper, nullptr));
  if (PyCapsule_SetName(capsule, Form<Managed>::kUsed) < 0 ||
      PyCapsule_SetDestructor(keeper.get(), drop_keeper<Managed>) < 0) {
    throw PythonErrorSet();
  }
  describe_for_library(*managed, relay->managed);
  relay->keeper = keeper.release();
  relay->tag = runtime.tag;
  relay->managed.manager_ctx = relay.get();
  relay->managed.deleter = Relay<Managed>::let_go;
  return from_dlpack(&relay.release()->managed);
}

Tensor take_over_capsule(Runtime& runtime, PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, Form<DLManagedTensorVersioned>::kName) != 0) {
    return take_over<DLManagedTensorVersioned>(runtime, capsule);
  }
  if (PyCapsule_IsValid(capsule, Form<DLManagedTensor>::kName) != 0) {
    return take_over<DLManagedTensor>(runtime, capsule);
  }
  const char* const name = PyCapsule_GetName(capsule);
  if (name == nullptr) PyErr_Clear();  // a capsule may have no name
  const std::string_view text = name == nullptr ? "" : name;
  if (text == Form<DLManagedTensor>::kUsed || text == Form<DLManagedTensorVersioned>::kUsed) {
    fail(ErrorKind::BadValue,
         "from_dlpack: the capsule was consumed already; each one is taken in once, so ask its "
         "producer for another");
  }
  fail(ErrorKind::BadArgument,
       "from_dlpack: the capsule is named '" + std::string(text) +
           "'; accepted are capsules named 'dltensor' and 'dltensor_versioned'");
}

// Producers from before DLPack 1.0 know no max_version and raise TypeError.
Owned ask_for_capsule(PyObject* source, PyObject* produce) {
  const Owned none = checked(PyTuple_New(0));
  const Owned names = checked(
      Py_BuildValue("{s:(II)}", "max_version", dlpack::kMajorVersion, dlpack::kMinorVersion));
  PyObject* capsule = PyObject_Call(produce, none.get(), names.get());
  if (capsule == nullptr && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
    PyErr_Clear();
    capsule = PyObject_CallNoArgs(produce);
  }
  Owned held = checked(capsule);
  if (!PyCapsule_CheckExact(held.get())) {
    fail(ErrorKind::BadArgument, std::string("from_dlpack: __dlpack__ of ") +
                                     Py_TYPE(source)->tp_name + " gave a " +
                                     Py_TYPE(held.get())->tp_name + " where a capsule is expected");
  }
  return held;
}

// See [Strides].
Tensor require_forwards(Tensor tensor) {
  DimVector strides(tensor.strides());
  bool changed = false;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (strides[i] >= 0) continue;
    if (tensor.numel() != 0 && tensor.sizes()[i] > 1) {
      fail(ErrorKind::BadValue,
           "from_dlpack: the stride of dimension " + std::to_string(i) + " is " +
               std::to_string(strides[i]) +
               " elements, and tensors on foreign memory have none below zero; copy the array "
               "first, as array.copy() does");
    }
    strides[i] = 1;
    changed = true;
  }
  if (!changed) return tensor;
  return tensor.as_strided(tensor.sizes(), strides, tensor.storage_offset());
}

}  // namespace

// Whatever stands in the way of an export is a BufferError, as the protocol has it.
PyObject* export_dlpack(PyObject* self, PyObject* args, PyObject* kwargs) {
  return entry_from_python([&]() -> PyObject* {
    static const char* const names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
    ExportRequest request;
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", const_cast<char**>(names),
                                    &request.stream, &request.max_version, &request.device,
                                    &request.copy) == 0) {
      return nullptr;
    }
    try {
      return export_tensor(self, request).release();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::BadValue && error.kind() != ErrorKind::Unsupported) throw;
      PyErr_SetString(PyExc_BufferError, error.what());
      return nullptr;
    }
  });
}

PyObject* dlpack_device(PyObject* self, PyObject*) {
  return entry_from_python([&] {
    const dlpack::DLDevice device = dlpack_device_of(tensor_unchecked(self));
    return Py_BuildValue("(ii)", int(device.device_type), int(device.device_id));
  });
}

Tensor take_dlpack(Runtime& runtime, PyObject* source) {
  if (PyCapsule_CheckExact(source)) return take_over_capsule(runtime, source);
  PyObject* const produce = PyObject_GetAttrString(source, "__dlpack__");
  if (produce == nullptr) {
    if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw PythonErrorSet();
    PyErr_Clear();
    fail(ErrorKind::BadArgument,
         std::string("from_dlpack: a ") + Py_TYPE(source)->tp_name +
             " was given; accepted are objects with __dlpack__ and DLPack capsules");
  }
  const Owned capsule = ask_for_capsule(source, Owned::steal(produce).get());
  return take_over_capsule(runtime, capsule.get());
}

PyObject* import_dlpack(PyObject* module, PyObject* source) {
  return entry_from_python([&] {
    Runtime& runtime = runtime_of_module(module);
    return wrap(runtime, require_forwards(take_dlpack(runtime, source))).release();
  });
}

}  // namespace opyard::python
