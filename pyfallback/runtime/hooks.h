// runtime/hooks.h: the names by which C++ asks functions of the package; opyard/_hooks.py has them.
//
// Depends on: opyard/detail/doors.def.
#pragma once

namespace opyard::python::hook {

#define OPYARD_HOOK(name, module, attribute, arguments, what) inline constexpr char name[] = #name;
#include "opyard/detail/doors.def"

}  // namespace opyard::python::hook
