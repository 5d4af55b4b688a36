// operators/packet.h: all overloads of one name, ops.ns.name.
//
// Calling a packet tries its overloads in order of definition and calls the first whose schema
// takes the arguments. The packet looks again when the registry has changed (one comparison a
// call). It keeps every overload object that it made, so that an operator that is defined again
// has the object that it had before; see overload.h.
//
// Depends on: operators/overload.h.
#pragma once

#include "runtime/runtime.h"

#include "opyard/registry/operator.h"

namespace opyard::python {

// A new packet; `name` is "ns::name". The package keeps one for each name.
Owned make_packet(Runtime& runtime, const std::string& name);

// The object of an operator that its packet keeps, so that `is` compares operators. With the
// GIL held.
Owned overload_object(Runtime& runtime, const Operator& op);

// The overloads that are defined now: a tuple. Throws PythonErrorSet.
Owned packet_overloads(PyObject* packet);

void add_packet_type(Runtime& runtime, PyObject* module);

}  // namespace opyard::python
