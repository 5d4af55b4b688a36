// objects/tensor/aten.h: the aten operators that Tensor's own syntax leads to.
//
// `t + u` is a call of ops.aten.add, `t.relu()` one of ops.aten.relu, whatever kernels answer
// them. The package gives a hook, aten(name), that loads the operators on first use and gives
// the packet, or None if there is no such operator. Packets behind arithmetic are cached.
//
// Depends on: runtime/runtime.h, objects/tensor/aten_names.def.
#pragma once

#include "runtime/runtime.h"

#include <initializer_list>

namespace opyard::python {

enum class AtenName {
#define OPYARD_ATEN_NAME(name) name,
#include "objects/tensor/aten_names.def"
#undef OPYARD_ATEN_NAME
  count_
};
static_assert(int(AtenName::count_) <= Runtime::kMostAtenPackets);

// The packet of this name, or null if aten has no such operator. Throws PythonErrorSet
// if loading the operators fails.
Owned find_aten(Runtime& runtime, PyObject* name);

// Calls aten.<name> with positional arguments. Throws PythonErrorSet, and NotFound where the
// operators that are loaded do not have it.
Owned call_aten(Runtime& runtime, AtenName name, std::initializer_list<PyObject*> args);

// "add"
const char* name_of(AtenName name) noexcept;

// Lets go of the packets that are cached.
void drop_aten_packets(Runtime& runtime) noexcept;

}  // namespace opyard::python
