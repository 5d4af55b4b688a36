// objects/arrays/exported_array.cpp: the functions by which arrays export memory, and the end of an export.
#include "objects/arrays/exported_array.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "objects/arrays/buffer_source.h"
#include "objects/arrays/dlpack_source.h"
#include "opyard/detail/python/clear.h"
#include "opyard/detail/python/stack_end.h"
#include "runtime/enter_python.h"
#include "runtime/gil.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

using dlpack::DLManagedTensor;
using dlpack::DLManagedTensorVersioned;
using dlpack::DLTensor;

// ---- what an export holds ----

// Gives back all but the array. An exception may be on its way.
void give_back_parts(ExportedArray& exported) noexcept {
  if (exported.managed != nullptr) exported.give_back(std::exchange(exported.managed, nullptr));
  if (exported.view.obj != nullptr) in_python([&] { PyBuffer_Release(&exported.view); });
}

template <typename Managed>
void give_back_struct(void* managed) {
  give_back_quietly(static_cast<Managed*>(managed));
}

// Of a keeper. See [Keeper].
void give_back_export(void* held) {
  const std::unique_ptr<ExportedArray> exported(static_cast<ExportedArray*>(held));
  give_back_parts(*exported);
  if (exported->holds_array) drop_reference(exported->array);
}

// ---- settling ----

// With the GIL held, which asking may let go of for a while: another thread may have been here
// meanwhile. Throws what ask_table() does.
void resolve_with_gil_held(ExportedArray& exported) {
  if (exported.table == nullptr) return;
  DLManagedTensorVersioned* const managed = ask_table(*exported.table, exported.array, "");
  if (exported.table == nullptr) return give_back_quietly(managed);
  exported.managed = managed;
  exported.give_back = give_back_struct<DLManagedTensorVersioned>;
  exported.table = nullptr;
  exported.tensor.set_access((managed->flags & dlpack::kReadOnly) != 0);
}

// For callers that cannot raise. If the library gives no struct of its own, its array is held, and
// is read-only.
OPYARD_COLD void resolve_quietly(ExportedArray& exported) noexcept {
  PyObject* const pending = PyErr_Occurred() == nullptr ? nullptr : take_exception();
  try {
    resolve_with_gil_held(exported);
  } catch (const PythonErrorSet&) {
    PyErr_WriteUnraisable(exported.array);
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_BufferError, error.what());
    PyErr_WriteUnraisable(exported.array);
  }
  if (exported.table != nullptr) {
    exported.table = nullptr;
    exported.tensor.set_access(true);
  }
  if (pending != nullptr) restore_exception(pending);
}

// ---- doors ----

// False without an exception if the buffer is not what can be exported, else with what the array
// raised.
bool export_buffer(ExportedArray& exported, PyObject* array, bool may_be_read_only) {
  Py_buffer& view = exported.view;
  exported.table = nullptr;
  view.obj = nullptr;
  if (is_stack_at_its_end()) return false;
  if (in_python([&] { return PyObject_GetBuffer(array, &view, PyBUF_RECORDS_RO); }) != 0) {
    if (!clear_if(PyExc_BufferError)) clear_if(PyExc_ValueError);  // the next door says why
    view.obj = nullptr;
    return false;
  }
  // One that names a byte order goes the other way.
  const std::optional<DType> dtype =
      view.format == nullptr ? std::nullopt : find_dtype_of(view.format, view.itemsize);
  const bool is_borrowed = (view.readonly == 0 || may_be_read_only) && view.suboffsets == nullptr &&
                           (view.ndim == 0 || (view.shape != nullptr && view.strides != nullptr)) &&
                           dtype.has_value() &&
                           exported.tensor.stand_for(
                               view.buf, {view.shape, std::size_t(view.ndim)}, view.strides, *dtype,
                               view.readonly == 0 ? MemoryAccess::Writable : MemoryAccess::ReadOnly,
                               ExportedTensor::Unit::Bytes);
  if (!is_borrowed) in_python([&] { PyBuffer_Release(&view); });
  return is_borrowed;
}

// ---- structs ----

// An export for a struct that is yet to be asked for, so that none is lost if memory is out.
class Prepared {
 public:
  explicit Prepared(Runtime& runtime) : exported_(&take_export(runtime)) {}
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
  ~Prepared() {
    if (exported_ != nullptr) free_export(*exported_);
  }

  // `read_only` is for what the struct does not say.
  ExportedOrTaken hold(DLManagedTensorVersioned* managed, PyObject* array, bool read_only = false) {
    const bool is_known = managed->version.major == dlpack::kMajorVersion;
    if (is_known) read_only |= (managed->flags & dlpack::kReadOnly) != 0;
    return hold_struct(managed, is_known, read_only, array);
  }
  ExportedOrTaken hold(DLManagedTensor* managed, PyObject* array, bool read_only) {
    return hold_struct(managed, true, read_only, array);
  }

 private:
  template <typename Managed>
  ExportedOrTaken hold_struct(Managed* managed, bool is_known, bool read_only, PyObject* array) {
    const auto access = read_only ? MemoryAccess::ReadOnly : MemoryAccess::Writable;
    if (!is_known || !exported_->tensor.stand_for(managed->dl_tensor, access)) {
      const std::unique_ptr<ExportedArray> unused(std::exchange(exported_, nullptr));
      return {nullptr, take_over(std::move(unused->keeper), managed, read_only)};
    }
    exported_->table = nullptr;
    exported_->managed = managed;
    exported_->give_back = give_back_struct<Managed>;
    exported_->array = array;
    return {std::exchange(exported_, nullptr), Tensor()};
  }

  ExportedArray* exported_;
};

// Until the capsule has its new name it owns the struct; from then on the export does.
template <typename Managed>
ExportedOrTaken export_out_of(Runtime& runtime, PyObject* capsule, PyObject* array,
                              bool read_only) {
  auto* const managed =
      static_cast<Managed*>(PyCapsule_GetPointer(capsule, DLPackForm<Managed>::kName));
  Prepared prepared(runtime);
  if (PyCapsule_SetName(capsule, DLPackForm<Managed>::kUsed) < 0) throw PythonErrorSet();
  return prepared.hold(managed, array, read_only);
}

template <typename Managed>
bool is_capsule_of(PyObject* capsule) noexcept {
  return PyCapsule_IsValid(capsule, DLPackForm<Managed>::kName) != 0;
}

}  // namespace

ExportedArray& new_export(Runtime& runtime) { return *new ExportedArray(runtime); }
void delete_export(ExportedArray& exported) noexcept { delete &exported; }

ExportedArray::ExportedArray(Runtime& for_runtime)
    : runtime(for_runtime), keeper(make_keeper(for_runtime)) {}

ExportedArray::~ExportedArray() = default;

// Not for an export that is resolved, nor for one that has ended. A thread that is not Python's
// does not wait for the GIL here: the kernel that was called with the array may hold it, and wait
// for that very thread.
void ExportedArray::resolve() {
  OPYARD_CHECK(
      own_thread_state() != nullptr, BadValue,
      "an argument that was exported to an operator was to be written, or given away, on a thread "
      "outside of Python, which cannot ask for that; declare an argument that is written to "
      "in the schema, as in Tensor(a!), or ask on the thread of the call first");
  enter_python(runtime, [&] {
    try {
      resolve_with_gil_held(*this);
    } catch (const Error& error) {
      fail(error.kind(), std::string("an argument of type '") + Py_TYPE(array)->tp_name +
                             "' that was exported to an operator cannot be held: " + error.what());
    }
  });
}

ExportedArray* export_array(Runtime& runtime, const ForeignKind& kind, PyObject* array,
                            bool written) {
  if (kind.way == ForeignWay::Table) {
    if (written || kind.table->dltensor_from_py_object_no_sync == nullptr) return nullptr;
    return export_by_table(runtime, *kind.table, array);
  }
  if (!kind.by_buffer) return nullptr;
  ExportedArray& exported = take_export(runtime);
  if (__builtin_expect(!export_buffer(exported, array, kind.way == ForeignWay::Buffer), 0)) {
    free_export(exported);
    if (PyErr_Occurred() != nullptr) throw_python_error(runtime);
    return nullptr;
  }
  if (exported.array != array) exported.array = array;
  return &exported;
}

ExportedOrTaken export_from_table(Runtime& runtime, const ForeignKind& kind, PyObject* array) {
  Prepared prepared(runtime);
  return prepared.hold(ask_table(*kind.table, array, ""), array);
}

ExportedOrTaken export_from_method(Runtime& runtime, const ForeignKind&, PyObject* array) {
  const Owned capsule = ask_method(runtime, array, "");
  const bool read_only = has_read_only_buffer(array);
  if (is_capsule_of<DLManagedTensorVersioned>(capsule.get())) {
    return export_out_of<DLManagedTensorVersioned>(runtime, capsule.get(), array, read_only);
  }
  if (is_capsule_of<DLManagedTensor>(capsule.get())) {
    return export_out_of<DLManagedTensor>(runtime, capsule.get(), array, read_only);
  }
  return {nullptr, take_capsule(runtime, capsule.get(), "")};
}

ExportedOrTaken export_from_buffer(Runtime& runtime, const ForeignKind&, PyObject* array) {
  return {nullptr, share_buffer(runtime, array, "")};
}

ExportedOrTaken export_of_numpy(Runtime& runtime, const ForeignKind& kind, PyObject* array) {
  try {
    return export_from_method(runtime, kind, array);
  } catch (const PythonErrorSet&) {
    if (PyErr_ExceptionMatches(PyExc_BufferError) == 0) throw;
  }
  PyObject* const refusal = take_exception();
  try {
    ExportedOrTaken taken = export_from_buffer(runtime, kind, array);
    Py_DECREF(refusal);
    return taken;
  } catch (const Error&) {
  } catch (const PythonErrorSet&) {
    if (!clear_if(PyExc_BufferError)) {
      Py_DECREF(refusal);
      throw;
    }
  }
  restore_exception(refusal);
  throw PythonErrorSet();
}

void end_export(ExportedArray& exported) noexcept {
  if (__builtin_expect(exported.tensor.take_back(), 1)) {
    PyObject* const held = exported.holds_array ? exported.array : nullptr;
    give_back_parts(exported);
    free_export(exported);
    if (held != nullptr) drop_reference(held);
    return;
  }
  if (exported.table != nullptr) resolve_quietly(exported);
  // What has an owner needs no array, and an array that nothing holds would be lost.
  const bool has_owner = exported.managed != nullptr || exported.view.obj != nullptr;
  PyObject* const held = has_owner && exported.holds_array ? exported.array : nullptr;
  if (has_owner) {
    exported.holds_array = false;
  } else if (!exported.holds_array) {
    exported.hold_array(true);
  }
  PyObject* const keeper = exported.keeper.release();
  fill_keeper(keeper, &exported, give_back_export);
  exported.tensor.own(keeper, let_go_of_keeper);
  exported.tensor.release();
  if (held != nullptr) drop_reference(held);
}

void drop_exports(Runtime& runtime) noexcept {
  ForeignState& state = *runtime.foreign;
  state.most_free_exports = 0;
  while (state.free_export_count > 0) delete state.free_exports[--state.free_export_count];
}

}  // namespace opyard::python
