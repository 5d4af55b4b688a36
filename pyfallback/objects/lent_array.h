// objects/lent_array.h: arrays of other libraries, lent to operators for the length of a call.
//
// For a call nobody has to own anything: the caller's reference keeps the array. So an array is looked at by the cheapest door
// that there is, and a tensor that stands for it is filled in (opyard/tensor/lent_tensor.h):
//
//   types with an exchange table      the table's borrowed struct; an owned one once somebody asks for more than that says
//   exactly numpy.ndarray             its buffer; where it is kept, a reference to the array, which is what its
//                                     __dlpack__ holds
//   types with the buffer protocol    the buffer, which stays exported
//   structs that the caller owns      the struct
//
// Only for plain arrays: what is out of the ordinary is taken as from_dlpack() takes it, which says what is wrong with it.
//
// [Kept] Where the tensor outlives the call, the loan goes into a keeper (objects/dlpack_keeper.h), which owns it for the
// storage, and gives back all that it has when it dies.
//
// Loans come from, and go back to, a free list of the interpreter. Everything with the GIL held, but for settle().
//
// Depends on: objects/dlpack_keeper.h, objects/foreign_state.h, tensor/lent_tensor.h.
#pragma once

#include "runtime/runtime.h"

#include "objects/dlpack_keeper.h"
#include "objects/foreign_state.h"
#include "opyard/tensor/lent_tensor.h"

namespace opyard::python {

struct LentArray final : Lender {
  // Throws PythonErrorSet, std::bad_alloc.
  explicit LentArray(Runtime& for_runtime);
  ~LentArray();

  // Of a table: asks for an owned struct, once.
  void settle() override;

  Runtime& runtime;
  Owned keeper;  // empty; see [Kept]
  LentTensor tensor{*this};

  PyObject* array = nullptr;  // borrowed; owned where it is kept and nothing else holds it
  const dlpack::DLPackExchangeAPI* table = nullptr;  // that has to be asked while it is unsettled
  void* managed = nullptr;                           // a struct, and how it is given back
  GiveBack give_back = nullptr;
  Py_buffer view{};  // without an object where there is none
};

// The loan of an array without a struct, or null where there has to be one. The caller keeps the array until the loan has
// ended. `written` says that the memory is going to be written. Throws std::bad_alloc, PythonErrorSet.
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

// Ends it. False where the tensor was kept, and this has taken over the caller's reference to the array.
bool end_loan(LentArray& loan) noexcept;

// Frees the loans that wait for the next array. When the module ends.
void drop_loans(Runtime& runtime) noexcept;

}  // namespace opyard::python
