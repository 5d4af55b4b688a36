// operators/kernel_notes.h: notes on exceptions of kernels and handlers in Python.
//
// [Own recursion] A RecursionError that comes out of one kernel again and again gets a note that
// it calls its own operator, and what to call in its place; one that comes out of two by turns,
// that they call each other.
// [Wrong call] A TypeError of a function that was not entered, because it does not take what it
// was called with, gets a note of the operator, and of the defaults that its parameters need.
//
// Depends on: registry/operator.h, detail/registry/record.h.
#pragma once

#include "runtime/runtime.h"

#include "opyard/detail/registry/record.h"
#include "opyard/registry/operator.h"

namespace opyard::python {

// With the exception set that `function`, a kernel in Python, raised.
OPYARD_COLD void note_failed_kernel(const Record& record, const Operator& op,
                                    PyObject* function) noexcept;
// With the exception set that the handler of a mode or a class raised.
OPYARD_COLD void note_failed_handler(const PyTypeObject* type, bool is_mode,
                                     const Operator& op) noexcept;

// What a kernel in Python returned, or null.
inline PyObject* noting_failure(const Record& record, const Operator& op, PyObject* function,
                                PyObject* result) noexcept {
  if (__builtin_expect(result == nullptr, 0)) note_failed_kernel(record, op, function);
  return result;
}
// What a handler answered, or null.
inline PyObject* noting_failure(const PyTypeObject* type, bool is_mode, const Operator& op,
                                PyObject* answer) noexcept {
  if (__builtin_expect(answer == nullptr, 0)) note_failed_handler(type, is_mode, op);
  return answer;
}

}  // namespace opyard::python
