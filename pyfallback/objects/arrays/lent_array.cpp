// objects/arrays/lent_array.cpp: the doors of arrays, and what becomes of a loan.
#include "objects/arrays/lent_array.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "objects/arrays/buffer_source.h"
#include "objects/arrays/dlpack_source.h"
#include "runtime/clear.h"
#include "runtime/enter_python.h"
#include "runtime/gil.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

using dlpack::DLManagedTensor;
using dlpack::DLManagedTensorVersioned;
using dlpack::DLTensor;

// ---- what a loan holds ----

// Gives back all but the array. An exception may be on its way.
void give_back_parts(LentArray& loan) noexcept {
  if (loan.managed != nullptr) loan.give_back(std::exchange(loan.managed, nullptr));
  if (loan.view.obj != nullptr) in_python([&] { PyBuffer_Release(&loan.view); });
}

template <typename Managed>
void give_back_struct(void* managed) {
  give_back_quietly(static_cast<Managed*>(managed));
}

// Of a keeper. See [Kept].
void give_back_loan(void* kept) {
  const std::unique_ptr<LentArray> loan(static_cast<LentArray*>(kept));
  give_back_parts(*loan);
  if (loan->holds_array) drop_reference(loan->array);
}

// ---- settling ----

// With the GIL held, which asking may let go of for a while: another thread may have been here meanwhile. Throws what
// ask_table() does.
void settle_with_gil_held(LentArray& loan) {
  if (loan.table == nullptr) return;
  DLManagedTensorVersioned* const managed = ask_table(*loan.table, loan.array, "");
  if (loan.table == nullptr) return give_back_quietly(managed);
  loan.managed = managed;
  loan.give_back = give_back_struct<DLManagedTensorVersioned>;
  loan.table = nullptr;
  loan.tensor.set_access((managed->flags & dlpack::kReadOnly) != 0);
}

// For callers that cannot raise. If the library gives no struct of its own, its array is kept, and is read-only.
OPYARD_COLD void settle_quietly(LentArray& loan) noexcept {
  PyObject* const pending = PyErr_Occurred() == nullptr ? nullptr : take_exception();
  try {
    settle_with_gil_held(loan);
  } catch (const PythonErrorSet&) {
    PyErr_WriteUnraisable(loan.array);
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_BufferError, error.what());
    PyErr_WriteUnraisable(loan.array);
  }
  if (loan.table != nullptr) {
    loan.table = nullptr;
    loan.tensor.set_access(true);
  }
  if (pending != nullptr) restore_exception(pending);
}

// ---- doors ----

// False without an exception where the buffer is not what can be lent, else with what the array raised.
bool lend_buffer(LentArray& loan, PyObject* array, bool may_be_read_only) {
  Py_buffer& view = loan.view;
  loan.table = nullptr;
  if (in_python([&] { return PyObject_GetBuffer(array, &view, PyBUF_RECORDS_RO); }) != 0) {
    if (!clear_if(PyExc_BufferError)) clear_if(PyExc_ValueError);  // the next door says why
    view.obj = nullptr;
    return false;
  }
  // One that names a byte order goes the other way.
  const std::optional<DType> dtype =
      view.format == nullptr ? std::nullopt : find_dtype_of(view.format, view.itemsize);
  const bool is_lent =
      (view.readonly == 0 || may_be_read_only) && view.suboffsets == nullptr &&
      (view.ndim == 0 || (view.shape != nullptr && view.strides != nullptr)) && dtype.has_value() &&
      loan.tensor.lend(view.buf, {view.shape, std::size_t(view.ndim)}, view.strides, *dtype,
                       view.readonly == 0 ? MemoryAccess::Writable : MemoryAccess::ReadOnly,
                       LentTensor::Unit::Bytes);
  if (!is_lent) in_python([&] { PyBuffer_Release(&view); });
  return is_lent;
}

// ---- structs ----

// A loan for a struct that is yet to be asked for, so that none is lost where memory is out.
class Prepared {
 public:
  explicit Prepared(Runtime& runtime) : loan_(&take_loan(runtime)) {}
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
  ~Prepared() {
    if (loan_ != nullptr) free_loan(*loan_);
  }

  // `read_only` is for what the struct does not say.
  LentOrTaken hold(DLManagedTensorVersioned* managed, PyObject* array, bool read_only = false) {
    const bool is_known = managed->version.major == dlpack::kMajorVersion;
    if (is_known) read_only |= (managed->flags & dlpack::kReadOnly) != 0;
    return hold_struct(managed, is_known, read_only, array);
  }
  LentOrTaken hold(DLManagedTensor* managed, PyObject* array, bool read_only) {
    return hold_struct(managed, true, read_only, array);
  }

 private:
  template <typename Managed>
  LentOrTaken hold_struct(Managed* managed, bool is_known, bool read_only, PyObject* array) {
    const auto access = read_only ? MemoryAccess::ReadOnly : MemoryAccess::Writable;
    if (!is_known || !loan_->tensor.lend(managed->dl_tensor, access)) {
      const std::unique_ptr<LentArray> unused(std::exchange(loan_, nullptr));
      return {nullptr, take_over(std::move(unused->keeper), managed, read_only)};
    }
    loan_->table = nullptr;
    loan_->managed = managed;
    loan_->give_back = give_back_struct<Managed>;
    loan_->array = array;
    return {std::exchange(loan_, nullptr), Tensor()};
  }

  LentArray* loan_;
};

// Until the capsule has its new name it owns the struct; from then on the loan does.
template <typename Managed>
LentOrTaken lend_out_of(Runtime& runtime, PyObject* capsule, PyObject* array, bool read_only) {
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

LentArray& new_loan(Runtime& runtime) { return *new LentArray(runtime); }
void delete_loan(LentArray& loan) noexcept { delete &loan; }

LentArray::LentArray(Runtime& for_runtime)
    : runtime(for_runtime), keeper(make_keeper(for_runtime)) {}

LentArray::~LentArray() = default;

// Not for a loan that is settled, nor for one that has ended. A thread that is not Python's does not wait for the GIL here: the
// kernel that was called with the array may hold it, and wait for that very thread.
void LentArray::settle() {
  OPYARD_CHECK(
      own_thread_state() != nullptr, BadValue,
      "an argument that was lent to an operator was to be written, or exported, on a thread "
      "outside of Python, which cannot ask for that; declare an argument that is written to "
      "in the schema, as in Tensor(a!), or ask on the thread of the call first");
  enter_python(runtime, [&] {
    try {
      settle_with_gil_held(*this);
    } catch (const Error& error) {
      fail(error.kind(), std::string("an argument of type '") + Py_TYPE(array)->tp_name +
                             "' that was lent to an operator cannot be kept: " + error.what());
    }
  });
}

LentArray* lend_array(Runtime& runtime, const ForeignKind& kind, PyObject* array, bool written) {
  if (kind.way == ForeignWay::Table) {
    if (written || kind.table->dltensor_from_py_object_no_sync == nullptr) return nullptr;
    return lend_by_table(runtime, *kind.table, array);
  }
  if (!kind.by_buffer) return nullptr;
  LentArray& loan = take_loan(runtime);
  if (__builtin_expect(!lend_buffer(loan, array, kind.way == ForeignWay::Buffer), 0)) {
    free_loan(loan);
    if (PyErr_Occurred() != nullptr) throw_python_error(runtime);
    return nullptr;
  }
  if (loan.array != array) loan.array = array;
  return &loan;
}

LentOrTaken lend_from_table(Runtime& runtime, const dlpack::DLPackExchangeAPI& table,
                            PyObject* array) {
  Prepared prepared(runtime);
  return prepared.hold(ask_table(table, array, ""), array);
}

LentOrTaken lend_from_method(Runtime& runtime, PyObject* array) {
  const Owned capsule = ask_method(runtime, array, "");
  const bool read_only = has_read_only_buffer(array);
  if (is_capsule_of<DLManagedTensorVersioned>(capsule.get())) {
    return lend_out_of<DLManagedTensorVersioned>(runtime, capsule.get(), array, read_only);
  }
  if (is_capsule_of<DLManagedTensor>(capsule.get())) {
    return lend_out_of<DLManagedTensor>(runtime, capsule.get(), array, read_only);
  }
  return {nullptr, take_capsule(runtime, capsule.get(), "")};
}

void end_loan(LentArray& loan) noexcept {
  if (__builtin_expect(loan.tensor.take_back(), 1)) {
    PyObject* const held = loan.holds_array ? loan.array : nullptr;
    give_back_parts(loan);
    free_loan(loan);
    if (held != nullptr) drop_reference(held);
    return;
  }
  if (loan.table != nullptr) settle_quietly(loan);
  // What has an owner needs no array, and an array that nothing holds would be lost.
  const bool has_owner = loan.managed != nullptr || loan.view.obj != nullptr;
  PyObject* const held = has_owner && loan.holds_array ? loan.array : nullptr;
  if (has_owner) {
    loan.holds_array = false;
  } else if (!loan.holds_array) {
    loan.hold_array(true);
  }
  PyObject* const keeper = loan.keeper.release();
  fill_keeper(keeper, &loan, give_back_loan);
  loan.tensor.own(keeper, let_go_of_keeper);
  loan.tensor.release();
  if (held != nullptr) drop_reference(held);
}

void drop_loans(Runtime& runtime) noexcept {
  ForeignState& state = *runtime.foreign;
  state.most_free_loans = 0;
  while (state.free_loan_count > 0) delete state.free_loans[--state.free_loan_count];
}

}  // namespace opyard::python
