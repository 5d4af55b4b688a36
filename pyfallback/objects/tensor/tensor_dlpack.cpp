// objects/tensor/tensor_dlpack.cpp: DLPack in Python: capsules out, capsules and objects in.
//
// What comes in is taken out of its capsule in objects/arrays/dlpack_source.cpp.
#include "objects/arrays/dlpack_keeper.h"
#include "objects/arrays/dlpack_source.h"
#include "objects/arrays/foreign_array.h"
#include "objects/arrays/foreign_kind.h"
#include "objects/tensor/aten.h"
#include "objects/tensor/tensor_parts.h"
#include "objects/tensor/traced_read.h"
#include "objects/values/element.h"
#include "objects/values/integer.h"
#include "opyard/detail/python/clear.h"
#include "runtime/keywords.h"
#include "runtime/require_stack.h"
#include "runtime/types.h"

#include <optional>

namespace opyard::python {
namespace {

using dlpack::DLManagedTensor;
using dlpack::DLManagedTensorVersioned;

constexpr const char* kFromDLPack = "from_dlpack: ";  // what its messages begin with

// ---- out ----

template <typename Managed>
void drop_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, DLPackForm<Managed>::kName) == 0) return;  // consumed
  give_back_quietly(
      static_cast<Managed*>(PyCapsule_GetPointer(capsule, DLPackForm<Managed>::kName)));
}

template <typename Managed>
Owned make_capsule(Managed* managed) {
  PyObject* const capsule =
      PyCapsule_New(managed, DLPackForm<Managed>::kName, drop_capsule<Managed>);
  if (capsule == nullptr) {
    give_back_quietly(managed);
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
    require_stack();
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
  require_stack();
  Runtime& runtime = runtime_of_tensor(self);
  require_no_tangent(self, "__dlpack__");
  require_possible(tensor_unchecked(self), request);
  const bool versioned =
      request.max_version != Py_None && require_pair(request.max_version, "max_version").first >= 1;
  const int copy = request.copy == Py_None ? 0 : PyObject_IsTrue(request.copy);
  if (copy < 0) throw PythonErrorSet();
  Owned source = Owned::share(self);
  if (copy != 0) source = call_aten(runtime, AtenName::clone, {self});
  const Tensor& tensor = tensor_unchecked(source.get());
  require_readable(tensor, "__dlpack__");
  if (!versioned) return make_capsule(to_dlpack(tensor));
  DLManagedTensorVersioned* const managed = to_dlpack_versioned(tensor);
  if (copy != 0) managed->flags |= dlpack::kIsCopied;
  return make_capsule(managed);
}

}  // namespace

// Whatever prevents an export is a BufferError, as the protocol has it.
PyObject* export_dlpack(PyObject* self, PyObject* args, PyObject* kwargs) {
  return enter_from_python([&]() -> PyObject* {
    static const char* const names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
    ExportRequest request;
    if (!parse_keywords(args, kwargs, "|$OOOO:__dlpack__", names, &request.stream,
                        &request.max_version, &request.device, &request.copy)) {
      return nullptr;
    }
    note_read(self, "__dlpack__()");
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
  return enter_from_python([&] {
    const dlpack::DLDevice device = dlpack_device_of(tensor_unchecked(self));
    return Py_BuildValue("(ii)", int(device.device_type), int(device.device_id));
  });
}

namespace {

Tensor take_itself(Runtime& runtime, const ForeignKind& kind, PyObject* source) {
  if (kind.way == ForeignWay::Table) {
    return take_from_table(runtime, *kind.table, source, kFromDLPack);
  }
  const Owned method = Owned::steal(PyObject_GetAttr(source, runtime.foreign->method_name));
  if (!method) {
    if (!clear_if(PyExc_AttributeError)) throw PythonErrorSet();
    fail(ErrorKind::BadArgument,
         std::string("from_dlpack: a ") + Py_TYPE(source)->tp_name +
             " was given; accepted are objects with __dlpack__ and DLPack capsules");
  }
  return take_from_method(runtime, source, kFromDLPack);
}

}  // namespace

Owned require_only_memory(const BeyondMemory* beyond, PyObject* source, const char* what) {
  GradMode mode;
  try {
    return resolve(beyond, source, false, mode);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Python) throw;
    fail(error.kind(), std::string(what) + "a " + Py_TYPE(source)->tp_name +
                           " was given that is more than its memory: " + error.what());
  }
}

Tensor take_dlpack(Runtime& runtime, PyObject* source) {
  require_stack();
  if (PyCapsule_CheckExact(source)) return take_capsule(runtime, source, kFromDLPack);
  const ForeignKind kind = foreign_kind_of(runtime, Py_TYPE(source));
  // A tensor of ours is refused for its history as one of another library is.
  const BeyondMemory* const beyond =
      is_tensor(runtime, source) ? find_beyond_memory(runtime, Py_TYPE(source)) : kind.beyond;
  const Owned copy = require_only_memory(beyond, source, kFromDLPack);
  if (!copy) return take_itself(runtime, kind, source);
  return as_read_only(
      take_itself(runtime, foreign_kind_of(runtime, Py_TYPE(copy.get())), copy.get()));
}

PyObject* import_dlpack(PyObject* module, PyObject* source) {
  return enter_from_python([&] {
    Runtime& runtime = runtime_of_module(module);
    return wrap(runtime, require_forwards(take_dlpack(runtime, source), kFromDLPack)).release();
  });
}

PyObject* tensor_for(PyObject* module, PyObject* object) {
  return enter_from_python([&] {
    Runtime& runtime = runtime_of_module(module);
    Value tensor;
    if (is_tensor(runtime, object) || !to_foreign_tensor(runtime, object, nullptr, tensor)) {
      return Owned::share(Py_None).release();
    }
    return wrap(runtime, tensor.take_tensor()).release();
  });
}

}  // namespace opyard::python
