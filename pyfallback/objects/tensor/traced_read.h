// objects/tensor/traced_read.h: notifies a trace that Python read a tensor.
//
// A graph holds what operators do. A size, a number or the bytes of a tensor that Python reads
// meanwhile is a constant from there on, of which the user is told: opyard/_jit/reads.py, by the
// hook `trace_read`. A thread that does not trace pays one load and one test.
//
// Depends on: keys/local.h, runtime/runtime.h.
#pragma once

#include "runtime/runtime.h"

#include "opyard/keys/local.h"

namespace opyard::python {

// Whether a trace is active on this thread, and this is not inside of a call that it traced.
inline bool is_tracing_calls() noexcept {
  constexpr std::uint64_t kTracer = DispatchKeySet(DispatchKey::Tracer).raw();
  return (detail::local_block.include & detail::local_block.keep & kTracer) != 0;
}

// Throws PythonErrorSet if a filter makes an exception of the warning.
OPYARD_COLD void tell_trace(PyObject* tensor, const char* what);

// Of a tensor that Python made of its own numbers. Throws PythonErrorSet.
OPYARD_COLD void tell_trace_of_made(PyObject* tensor);

inline void note_read(PyObject* tensor, const char* what) {
  if (__builtin_expect(is_tracing_calls(), 0)) tell_trace(tensor, what);
}

}  // namespace opyard::python
