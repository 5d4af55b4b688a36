// objects/arrays/dlpack_keeper.h: ownership of foreign DLPack structs by Python objects.
//
// A struct's deleter may need the GIL, or take it, while the last owner of a tensor may be any
// thread, even one that outlives Python. So the memory's storage keeps a keeper, and lets go of it
// through the interpreter tag; the keeper calls the producer's deleter when it dies: with the GIL,
// at once or from the drop list.
//
//   Storage ──deleter──> tag->decref ──> keeper ──dies──> producer's deleter(struct)
//
// Keepers come from, and go back to, a free list of the interpreter.
//
// Depends on: runtime/runtime.h, tensor/dlpack_exchange.h.
#pragma once

#include "runtime/runtime.h"

#include "opyard/tensor/dlpack_exchange.h"

namespace opyard::python {

// An empty keeper: made before there is a struct, so that none is lost where memory is out. Throws
// PythonErrorSet.
Owned make_keeper(Runtime& runtime);

// Puts a struct into an empty keeper, which from now on gives it back, and makes a tensor on its
// memory. Raises what from_dlpack() raises; then the struct was given back. `read_only` is for what
// a struct does not say itself.
Tensor take_over(Owned keeper, dlpack::DLManagedTensor* managed, bool read_only = false);
Tensor take_over(Owned keeper, dlpack::DLManagedTensorVersioned* managed, bool read_only = false);

// Puts anything else into an empty keeper, which gives it back when it dies. A storage whose
// context the keeper is, lets go of it with the deleter.
using GiveBack = void (*)(void* held);
void fill_keeper(PyObject* keeper, void* held, GiveBack give_back) noexcept;
void let_go_of_keeper(void* keeper);

// Calls a struct's deleter, where an exception may be on its way already. With the GIL held.
void give_back_quietly(dlpack::DLManagedTensor* managed);
void give_back_quietly(dlpack::DLManagedTensorVersioned* managed);

// Makes the type. Throws PythonErrorSet.
void add_keeper_type(Runtime& runtime);
// Frees the keepers that wait for the next struct. When the module ends.
void drop_keepers(Runtime& runtime) noexcept;

}  // namespace opyard::python
