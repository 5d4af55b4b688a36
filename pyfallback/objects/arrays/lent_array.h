// objects/arrays/lent_array.h: arrays of other libraries, lent to operators for the length of a call.
//
// The caller's reference keeps the array alive for the call, so the call needs no owner. The array is read in the
// cheapest way that its type offers, into a tensor that owns nothing (opyard/tensor/lent_tensor.h):
//
//   types with an exchange table      the table's borrowed struct; an owned one as soon as more is asked for
//   exactly numpy.ndarray             its buffer; if it is kept, a reference to the array, as its __dlpack__
//                                     would hold
//   types with the buffer protocol    the buffer, which stays exported
//   structs that the caller owns      the struct
//
// Only for plain arrays. Any other goes the way of from_dlpack(), which says what is wrong with it.
//
// [Kept] If the tensor outlives the call, the loan moves into a keeper (objects/arrays/dlpack_keeper.h), which owns
// it for the storage, and gives everything back when it dies.
//
// Loans come from, and go back to, a free list of the interpreter. Everything with the GIL held, but for settle().
//
// Depends on: objects/arrays/dlpack_keeper.h, objects/arrays/foreign_state.h, tensor/lent_tensor.h.
#pragma once

#include "runtime/runtime.h"

#include "objects/arrays/dlpack_keeper.h"
#include "objects/arrays/foreign_state.h"
#include "opyard/tensor/lent_tensor.h"
#include "runtime/clear.h"
#include "runtime/errors.h"
#include "runtime/exit.h"

namespace opyard::python {

struct LentArray final : Lender {
  // Throws PythonErrorSet, std::bad_alloc.
  explicit LentArray(Runtime& for_runtime);
  ~LentArray();

  // Of a table: asks for an owned struct, once. Raises BadValue on a thread that is not Python's.
  void settle() override;
  // Whether the loan holds its array itself, until it ends. Where the array lies in the arguments of a call its caller does.
  void hold_array(bool itself) noexcept {
    if (holds_array != itself) holds_array = itself;  // see [Stores] of tensor/lent_tensor.cpp
    if (itself) Py_INCREF(array);
  }

  Runtime& runtime;
  Owned keeper;  // empty; see [Kept]
  LentTensor tensor{*this};

  PyObject* array = nullptr;
  bool holds_array = false;
  const dlpack::DLPackExchangeAPI* table = nullptr;  // that has to be asked while it is unsettled
  void* managed = nullptr;                           // a struct, and how it is given back
  GiveBack give_back = nullptr;
  Py_buffer view{};  // without an object where there is none
};

// The loan of an array without a struct, or null where there has to be one. The caller says who holds the array, with
// hold_array(). `written` says that the memory is going to be written. Throws std::bad_alloc, PythonErrorSet.
LentArray* lend_array(Runtime& runtime, const ForeignKind& kind, PyObject* array, bool written);

// An array that came with a struct: its loan, or the tensor as from_dlpack() makes it.
struct LentOrTaken {
  LentArray* loan = nullptr;
  Tensor tensor;
};
// By the array's table, and by its __dlpack__. Raises what take_from_table() and take_from_method() do.
LentOrTaken lend_from_table(Runtime& runtime, const dlpack::DLPackExchangeAPI& table,
                            PyObject* array);
LentOrTaken lend_from_method(Runtime& runtime, PyObject* array);

// Ends it.
void end_loan(LentArray& loan) noexcept;

// The free list. Throws PythonErrorSet, std::bad_alloc.
OPYARD_COLD LentArray& new_loan(Runtime& runtime);
OPYARD_COLD void delete_loan(LentArray& loan) noexcept;
inline LentArray& take_loan(Runtime& runtime) {
  ForeignState& state = *runtime.foreign;
  if (__builtin_expect(state.free_loan_count == 0, 0)) return new_loan(runtime);
  return *state.free_loans[--state.free_loan_count];
}
inline void free_loan(LentArray& loan) noexcept {
  ForeignState& state = *loan.runtime.foreign;
  if (__builtin_expect(state.free_loan_count >= state.most_free_loans, 0)) {
    return delete_loan(loan);
  }
  LentArray*& place = state.free_loans[state.free_loan_count++];
  if (place != &loan) place = &loan;
}

// The loan of an array whose table lends, or null, as for lend_array().
//
// Inline, as is all on the way here: a table may count by lock instructions, which wait for the stores before them, and each
// function that is entered saves registers (8 ns an array; bench row foreign_torch).
[[gnu::always_inline]] inline LentArray* lend_by_table(Runtime& runtime,
                                                       const dlpack::DLPackExchangeAPI& table,
                                                       PyObject* array) {
  LentArray& loan = take_loan(runtime);
  dlpack::DLTensor borrowed;
  if (__builtin_expect(
          in_python([&] { return table.dltensor_from_py_object_no_sync(array, &borrowed); }) != 0,
          0)) {
    clear_if(PyExc_Exception);  // asking for a struct says why
    free_loan(loan);
    if (PyErr_Occurred() != nullptr) throw_python_error(runtime);
    return nullptr;
  }
  if (__builtin_expect(!loan.tensor.lend(borrowed, MemoryAccess::Unsettled), 0)) {
    free_loan(loan);
    return nullptr;
  }
  if (loan.table != &table) loan.table = &table;
  if (loan.array != array) loan.array = array;
  return &loan;
}

// Frees the loans that wait for the next array. When the module ends.
void drop_loans(Runtime& runtime) noexcept;

}  // namespace opyard::python
