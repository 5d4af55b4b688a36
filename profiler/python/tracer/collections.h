// tracer/collections.h: runs of Python's garbage collector as events.
//
// Threads: with the GIL held. Depends on: python/python.h.
#pragma once

#include "opyard/detail/python/python.h"

namespace opyard::python {

// A function for gc.callbacks, which captures each run by its generation.
extern PyMethodDef collection_callback;

// Puts it into gc.callbacks, and takes it out. Leave no exception: a program may have replaced that
// list.
void watch_collections(PyObject* callback) noexcept;
void forget_collections(PyObject* callback) noexcept;

}  // namespace opyard::python
