// operators/symbolic_refusal.h: which argument of a call was symbolic where a kernel takes what is
// known.
//
// A kernel that reads a symbolic number as an int, or asks a tensor for sizes that are symbolic,
// fails deep inside, where no one knows of operators and arguments. A call from Python says both.
//
// Depends on: runtime/errors.h, registry/operator.h.
#pragma once

#include "runtime/errors.h"

#include "opyard/registry/operator.h"

namespace opyard::python {

// Whether a call failed for that.
bool is_symbolic_refusal(const Error& error) noexcept;
// Throws the error of a call, which is being handled, again: with the operator and the argument if
// it is one of these.
[[noreturn]] OPYARD_COLD void rethrow_named(const Operator& op, const Error& error,
                                            PyObject* const* args, Py_ssize_t count,
                                            PyObject* names);

}  // namespace opyard::python
