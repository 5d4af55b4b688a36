// objects/arrays/exported_array.h: arrays of other libraries, exported for a call.
//
// The caller's reference keeps the array alive for the call, so the call needs no owner. The array
// is read in the cheapest way that its type offers, into a tensor that owns nothing
// (opyard/detail/tensor/exported_tensor.h):
//
//   types with an exchange table      the table's borrowed struct; an owned one as soon as more is asked for
//   exactly numpy.ndarray             its buffer; if it is held, a reference to the array, as its __dlpack__
//                                     would hold
//   types with the buffer protocol    the buffer, which stays exported
//   structs that the caller owns      the struct
//
// Only for plain arrays. Any other goes the way of from_dlpack(), which says what is wrong with it.
//
// [Keeper] If the tensor outlives the call, the export moves into a keeper
// (objects/arrays/dlpack_keeper.h), which owns it for the storage, and gives everything back when
// it dies.
//
// Exports come from, and go back to, a free list of the interpreter. Everything with the GIL held,
// but for resolve().
//
// Depends on: objects/arrays/dlpack_keeper.h, objects/arrays/foreign_kind.h,
// tensor/exported_tensor.h.
#pragma once

#include "runtime/runtime.h"

#include "objects/arrays/dlpack_keeper.h"
#include "objects/arrays/foreign_kind.h"
#include "opyard/detail/python/clear.h"
#include "opyard/detail/python/exit.h"
#include "opyard/detail/tensor/exported_tensor.h"
#include "runtime/errors.h"

namespace opyard::python {

struct ExportedArray final : Exporter {
  // Throws PythonErrorSet, std::bad_alloc.
  explicit ExportedArray(Runtime& for_runtime);
  ~ExportedArray();

  // Of a table: asks for an owned struct, once. Raises BadValue on a thread that is not Python's.
  void resolve() override;
  // Whether the export holds its array itself, until it ends. Where the array is in the arguments
  // of a call its caller does.
  void hold_array(bool itself) noexcept {
    if (holds_array != itself) holds_array = itself;  // see [Stores] of tensor/exported_tensor.cpp
    if (itself) Py_INCREF(array);
  }

  Runtime& runtime;
  Owned keeper;  // empty; see [Keeper]
  ExportedTensor tensor{*this};

  PyObject* array = nullptr;
  bool holds_array = false;
  const dlpack::DLPackExchangeAPI* table = nullptr;  // that has to be asked while it is unresolved
  void* managed = nullptr;                           // a struct, and how it is given back
  GiveBack give_back = nullptr;
  Py_buffer view{};  // without an object if there is none
};

// The export of an array without a struct, or null if there has to be one. The caller says who
// holds the array, with hold_array(). `written` says that the memory is going to be written. Throws
// std::bad_alloc, PythonErrorSet.
ExportedArray* export_array(Runtime& runtime, const ForeignKind& kind, PyObject* array,
                            bool written);

// An array that came with a struct: its export, or the tensor as from_dlpack() makes it.
struct ExportedOrTaken {
  ExportedArray* exported = nullptr;
  Tensor tensor;
};
// By the table of the array's type, its __dlpack__, and its buffer: ForeignKind::take. Raise what
// take_from_table(), take_from_method() and share_buffer() do.
ExportedOrTaken export_from_table(Runtime& runtime, const ForeignKind& kind, PyObject* array);
ExportedOrTaken export_from_method(Runtime& runtime, const ForeignKind& kind, PyObject* array);
ExportedOrTaken export_from_buffer(Runtime& runtime, const ForeignKind& kind, PyObject* array);
// By __dlpack__, and by the buffer of what NumPy before 2.1 does not hand out so: arrays that are
// read-only.
ExportedOrTaken export_of_numpy(Runtime& runtime, const ForeignKind& kind, PyObject* array);

// Ends it.
void end_export(ExportedArray& exported) noexcept;

// The free list. Throws PythonErrorSet, std::bad_alloc.
OPYARD_COLD ExportedArray& new_export(Runtime& runtime);
OPYARD_COLD void delete_export(ExportedArray& exported) noexcept;
inline ExportedArray& take_export(Runtime& runtime) {
  ForeignState& state = *runtime.foreign;
  if (__builtin_expect(state.free_export_count == 0, 0)) return new_export(runtime);
  return *state.free_exports[--state.free_export_count];
}
inline void free_export(ExportedArray& exported) noexcept {
  ForeignState& state = *exported.runtime.foreign;
  if (__builtin_expect(state.free_export_count >= state.most_free_exports, 0)) {
    return delete_export(exported);
  }
  ExportedArray*& place = state.free_exports[state.free_export_count++];
  if (place != &exported) place = &exported;
}

// The export of an array whose table exports, or null, as for export_array().
//
// Inline, as is all on the way here: a table may count by lock instructions, which wait for the
// stores before them, and each function that is entered saves registers (8 ns an array; bench row
// foreign_torch).
[[gnu::always_inline]] inline ExportedArray* export_by_table(Runtime& runtime,
                                                             const dlpack::DLPackExchangeAPI& table,
                                                             PyObject* array) {
  ExportedArray& exported = take_export(runtime);
  dlpack::DLTensor borrowed;
  if (__builtin_expect(
          in_python([&] { return table.dltensor_from_py_object_no_sync(array, &borrowed); }) != 0,
          0)) {
    clear_if(PyExc_Exception);  // asking for a struct says why
    free_export(exported);
    if (PyErr_Occurred() != nullptr) throw_python_error(runtime);
    return nullptr;
  }
  if (__builtin_expect(!exported.tensor.stand_for(borrowed, MemoryAccess::Unresolved), 0)) {
    free_export(exported);
    return nullptr;
  }
  if (exported.table != &table) exported.table = &table;
  if (exported.array != array) exported.array = array;
  return &exported;
}

// Frees the exports that wait for the next array. When the module ends.
void drop_exports(Runtime& runtime) noexcept;

}  // namespace opyard::python
