// runtime/hooks.h: functions of the package that C++ calls by name. See opyard/_hooks.py.
//
// Threads: with the GIL held. Depends on: python/python.h, opyard/detail/doors.def.
#pragma once

#include "opyard/detail/python/python.h"

namespace opyard::python {

struct Runtime;

// The names: those of the list of doors.
namespace hook {
#define OPYARD_HOOK(name, module, attribute, arguments, what) inline constexpr char name[] = #name;
#include "opyard/detail/doors.def"
}  // namespace hook

// The function that the package gave under this name, borrowed. Raises Internal if it gave none,
// and RecursionError at the end of the stack.
PyObject* require_hook(const Runtime& runtime, const char* name);

}  // namespace opyard::python
