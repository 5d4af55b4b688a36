// operators/named_refusal.h: the operator and the argument that an error from inside a kernel is
// about.
//
// A kernel that reads a symbolic number as an int, asks a tensor for sizes that are symbolic, or
// reads elements as those of another dtype or of another number of dimensions, fails deep inside,
// where no one knows of operators and arguments. A call from Python says both.
//
// Depends on: operators/python_call.h, runtime/errors.h, registry/operator.h.
#pragma once

#include "runtime/errors.h"

#include <exception>

#include "operators/python_call.h"
#include "opyard/registry/operator.h"

namespace opyard::python {

// Whether a call failed for one of these.
bool is_unnamed_refusal(const Error& error) noexcept;
// Throws the error of a call, which is being handled, again: with the operator that was called
// ("aten::mm") first if another operator raised it that a kernel in C++ called, a function that
// kernels call ("transform"), or one of tensors or a look-up, which know of no operator.
[[noreturn]] OPYARD_COLD void rethrow_with_caller(std::string_view called, const Error& error);
// Throws what a kernel in C++ threw that is no Error, and is being handled, as a RuntimeError
// with the operator that was called and the C++ class; one for which memory was missing as it is.
[[noreturn]] OPYARD_COLD void rethrow_foreign(std::string_view called);
// Throws the error of a call, which is being handled, again: with the operator and the argument if
// it is one of these.
[[noreturn]] OPYARD_COLD void rethrow_named(const Operator& op, const Error& error,
                                            const GivenArguments& given);

}  // namespace opyard::python
