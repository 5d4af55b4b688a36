// operators/own_recursion.h: a RecursionError of a kernel in Python that calls its own operator.
//
// Depends on: registry/operator.h, detail/registry/record.h.
#pragma once

#include "runtime/runtime.h"

#include "opyard/detail/registry/record.h"
#include "opyard/registry/operator.h"

namespace opyard::python {

// With an exception set, which a kernel in Python raised. If it is a RecursionError that comes out
// of the same kernel for the second time, a note says so, and what to call in its place.
OPYARD_COLD void note_own_recursion(const Record& record, const Operator& op) noexcept;

// What a kernel in Python returned, or null.
inline PyObject* noting_own_recursion(const Record& record, const Operator& op,
                                      PyObject* result) noexcept {
  if (__builtin_expect(result == nullptr, 0)) note_own_recursion(record, op);
  return result;
}

}  // namespace opyard::python
