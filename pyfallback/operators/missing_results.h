// operators/missing_results.h: undefined tensors where a schema says `Tensor`.
//
// Python shows an undefined tensor as None, so that a kernel in C++ that forgot a result would give
// None without a word, as a function without `return` would.
//
// [Left out] An operator that says by a bool which of several results are wanted, as `output_mask`
// of convolution_backward does, may leave the others out; one that takes a list of bools may leave
// items of a `Tensor[]` out. A result that may always be missing is a `Tensor?`, and a list with
// such items a `Tensor?[]`.
//
// Depends on: schema/schema.h.
#pragma once

#include "runtime/runtime.h"

#include "opyard/schema/schema.h"

namespace opyard::python {

// See [Left out].
bool may_leave_out_results(const Schema& schema) noexcept;

// Raises BadReturn if the kernel of a call may not leave this result out. For a result that is an
// undefined tensor.
OPYARD_COLD void require_result(const Schema& schema, std::size_t position);

// The first item of a list or tuple that is None and that the kernel of a call may not leave out;
// -1 if there is none, or if this result is no list of tensors.
Py_ssize_t find_missing_item(const Schema& schema, std::size_t position, PyObject* items) noexcept;

// As require_result(), of the items of a result that may be a list.
void require_items(const Schema& schema, std::size_t position, PyObject* items);

}  // namespace opyard::python
