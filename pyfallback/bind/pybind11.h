// bind/pybind11.h: pybind11 as this folder includes it.
//
// Before CPython 3.12 pybind11 takes the GIL by PyGILState_Ensure(), which knows one thread state a
// thread: in a further interpreter that thread would wait for itself for ever. All of this folder
// is called with the GIL held, so nothing is to be taken there; and what pybind11 keeps is kept for
// each interpreter, as it does by itself from 3.12 on.
//
// Depends on: runtime/python.h.
#pragma once

#include "runtime/python.h"

#if OPYARD_INTERPRETERS_SHARE_THE_GIL
#define PYBIND11_HAS_SUBINTERPRETER_SUPPORT 1
#define PYBIND11_SIMPLE_GIL_MANAGEMENT
#define PyGILState_Ensure() PyGILState_LOCKED
#define PyGILState_Release(state) static_cast<void>(state)
#endif

#include <pybind11/pybind11.h>  // IWYU pragma: export
#include <pybind11/stl.h>       // IWYU pragma: export
