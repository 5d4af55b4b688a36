// kernels/result_rules.h: rules of a kernel's results, and their check.
//
//   Any            anything that fits the schema; nothing is looked at
//   Fresh          tensors with memory of their own: not an argument's, not another result's, but
//                  if the schema gives the result an alias set. Also of several tensors in one
//                  list. Memory is shared by tensors of one storage, and of two on the same bytes
//   FirstArgument  the first argument itself
//   OutArguments   the arguments that are given by name to be written to, in the schema's order
//
// The rule is chosen when the kernel is registered. Calls whose objects are ready are looked at by
// operators/direct_call.cpp, which comes here only with what it takes for a breach. It compares
// storages alone: a Tensor that the kernel made on an argument's bytes, as from_numpy() does,
// passes.
//
// Depends on: operators/python_function.h, kernels/results.h.
#pragma once

#include "runtime/runtime.h"

#include <span>

#include "kernels/results.h"
#include "operators/python_function.h"

namespace opyard::python {

// Raises BadReturn if the results of `function` break the rule. `arguments` are the call's, in
// the order of the schema. With the GIL held.
void check_results(ResultRule rule, const Returner& returner, PyObject* function,
                   const Operator& op, std::span<const Value> arguments,
                   std::span<const Value> results);

}  // namespace opyard::python
