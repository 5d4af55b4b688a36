// kernels/modes.h: the stack of modes, as Python sees it.
//
// opyard.dispatch has what people use; these are the functions of _C that it is made of. A mode
// is in lists as (object, place), with the place a number of ModePlace.
//
// Depends on: runtime/runtime.h.
#pragma once

#include "runtime/runtime.h"

namespace opyard::python {

// The functions of _C for them, ended by a null row.
extern PyMethodDef mode_functions[];

// Takes this thread's modes away that are objects of an interpreter which ends.
void leave_modes_of(const Runtime& runtime) noexcept;

}  // namespace opyard::python
