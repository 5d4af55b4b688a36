// tracer/observers.h: operator call observers in Python.
//
// Depends on: python/python.h.
#pragma once

#include "opyard/detail/python/python.h"

namespace opyard::python {

// begin_observer(on_enter, on_exit, inputs, outputs, probability) -> handle
// set_observer(handle, on), end_observer(handle)
extern PyMethodDef observer_functions[];

}  // namespace opyard::python
