// objects/tensor/dlpack_table.cpp: the DLPack exchange table of Tensor.
//
// The functions get objects as void pointers, and the table is found by all who ask a type for it;
// so an object is not believed to be a tensor before it was looked at. What prevents an
// export is a BufferError, as for __dlpack__.
#include "objects/tensor/dlpack_table.h"

#include <string>
#include <utility>

#include "objects/arrays/dlpack_keeper.h"
#include "objects/arrays/dlpack_source.h"
#include "objects/tensor/tensor.h"
#include "objects/tensor/tensor_parts.h"
#include "objects/values/element.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

using dlpack::DLManagedTensorVersioned;
using dlpack::DLTensor;

constexpr const char* kExchangeName = "__dlpack_c_exchange_api__";
constexpr const char* kPrefix = "__dlpack_c_exchange_api__: ";

Runtime& require_live_runtime() {
  Runtime* const runtime = find_runtime();
  if (runtime == nullptr)
    fail(ErrorKind::InterpreterGone, "opyard is not loaded in this interpreter");
  return *runtime;
}

const Tensor& require_tensor(void* given) {
  auto* const object = static_cast<PyObject*>(given);
  if (!is_tensor(require_live_runtime(), object)) {
    fail(ErrorKind::BadArgument, std::string(kPrefix) +
                                     "the table is that of opyard.Tensor, and a " +
                                     Py_TYPE(object)->tp_name + " was given");
  }
  const Tensor& tensor = tensor_unchecked(object);
  require_no_tangent(object, kExchangeName);
  require_readable(tensor, kExchangeName);
  return tensor;
}

// Runs what hands a tensor out; 0, or -1 with an exception set.
template <typename Body>
int hand_out(Body&& body) {
  return enter_from_python(-1, [&] {
    try {
      body();
      return 0;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::BadValue && error.kind() != ErrorKind::Unsupported) throw;
      PyErr_SetString(PyExc_BufferError, error.what());
      return -1;
    }
  });
}

int from_object(void* object, DLManagedTensorVersioned** out) {
  return hand_out([&] { *out = to_dlpack_versioned(require_tensor(object)); });
}

int borrow_object(void* object, DLTensor* out) {
  return hand_out([&] {
    const Tensor& tensor = require_tensor(object);
    OPYARD_CHECK(
        !tensor.impl()->storage()->read_only(), BadValue,
        std::string(kPrefix) +
            "the tensor's memory is read-only, which a borrowed struct cannot say; ask for "
            "an owned one");
    borrow_dlpack(tensor, *out);
  });
}

// An owner of a struct, until a keeper has it.
class ExportedTable {
 public:
  explicit ExportedTable(DLManagedTensorVersioned* managed) noexcept : managed_(managed) {}
  ExportedTable(const ExportedTable&) = delete;
  ExportedTable& operator=(const ExportedTable&) = delete;
  ~ExportedTable() {
    if (managed_ != nullptr) give_back_quietly(managed_);
  }
  [[nodiscard]] DLManagedTensorVersioned* release() noexcept {
    return std::exchange(managed_, nullptr);
  }

 private:
  DLManagedTensorVersioned* managed_;
};

int managed_to_object(DLManagedTensorVersioned* managed, void** out) {
  return enter_from_python(-1, [&] {
    ExportedTable given(managed);
    Runtime& runtime = require_live_runtime();
    Owned keeper = make_keeper(runtime);
    Tensor tensor = require_forwards(take_over(std::move(keeper), given.release()), kPrefix);
    *out = wrap(runtime, std::move(tensor)).release();
    return 0;
  });
}

const char* exception_name(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::Unsupported:
      return "NotImplementedError";
    case ErrorKind::BadShape:
    case ErrorKind::BadValue:
      return "ValueError";
    default:
      return "RuntimeError";
  }
}

// Touches nothing of Python: the GIL need not be held.
int allocate_memory(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_context,
                    void (*set_error)(void*, const char*, const char*)) {
  try {
    *out = to_dlpack_versioned(empty_dlpack(*prototype));
    return 0;
  } catch (const Error& error) {
    set_error(error_context, exception_name(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    set_error(error_context, "MemoryError", "out of memory");
  }
  return -1;
}

int current_stream(std::int32_t type, std::int32_t, void** out) {
  if (type != dlpack::kCPU) {
    PyErr_Format(PyExc_NotImplementedError,
                 "%stensors are in memory of the cpu, which has no streams; asked for was DLPack "
                 "device type %d",
                 kPrefix, int(type));
    return -1;
  }
  *out = nullptr;
  return 0;
}

constexpr dlpack::DLPackExchangeAPI kExchangeTable = {
    {{dlpack::kMajorVersion, dlpack::kExchangeMinorVersion}, nullptr},
    allocate_memory,
    from_object,
    managed_to_object,
    borrow_object,
    current_stream};

}  // namespace

void offer_exchange_table(PyTypeObject* type) {
  // A capsule holds a pointer to what may be changed; no one changes a table.
  const Owned capsule = checked(PyCapsule_New(
      const_cast<dlpack::DLPackExchangeAPI*>(&kExchangeTable), "dlpack_exchange_api", nullptr));
  if (PyObject_SetAttrString(reinterpret_cast<PyObject*>(type), kExchangeName, capsule.get()) < 0) {
    throw PythonErrorSet();
  }
}

}  // namespace opyard::python
