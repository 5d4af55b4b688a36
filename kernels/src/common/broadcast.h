// kernels/common/broadcast.h: checks of operands that broadcast, whose sizes may be symbolic.
//
//   require_broadcast(kOp, {{"self", self}, {"other", other}});    they broadcast with each other
//   require_expandable(kOp, {"src", src}, {"self", self});         src broadcasts to the sizes of self
//
// A composition calls one of them first, so that a refusal names it and its arguments, and not an
// operator that it calls. An operator that calls one with arguments of the same names uses
// call_named() or named(), which word a refusal again and cost nothing without one.
//
// Depends on: opyard/tensor/broadcast.h, common/symbolic.h.
#pragma once

#include <opyard/tensor/broadcast.h>

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/symbolic.h"

namespace opyard::kernels {

struct NamedTensor {
  const char* name;
  const Tensor& tensor;
};

// Raise BadShape, naming the first two that do not fit, and BadArgument for an undefined tensor.
void require_broadcast(const char* op, std::initializer_list<NamedTensor> operands);
void require_expandable(const char* op, const NamedTensor& source, const NamedTensor& target);
// The sizes before the last two, of batches of matrices, broadcast with each other.
void require_leading(const char* op, const NamedTensor& a, const NamedTensor& b);
// The same for a target that is described by its sizes.
void require_expandable(const char* op, const NamedTensor& source, const char* target,
                        IntSpan sizes);

// The sizes that all broadcast to. Raises BadShape.
std::vector<SymInt> symbolic_broadcast(const char* op, std::span<const NamedTensor> operands);

// Of operands that do not broadcast: names the first that does not fit one before it, and that one.
[[noreturn]] OPYARD_COLD void refuse_operands(const char* op,
                                              std::span<const NamedTensor> operands);

// Sizes of which some may be symbolic, in a refusal.
ShownOperand shown_sizes(const char* name, SymIntSpan sizes);

// The error under the name of the operator that was called. One that is an exception of Python, or
// begins otherwise, stays as it is.
[[noreturn]] OPYARD_COLD void refuse_named(const Error& error, const std::string& op,
                                           const std::string& other);

// Calls `other` with what is on the stack. Its refusals name `op`, which was called.
void call_named(const Operator& op, const Operator& other, Stack& stack);
// The same for `call`, a call of `other` with arguments of the same names.
template <typename Call>
decltype(auto) named(const char* op, const char* other, const Call& call) {
  try {
    return call();
  } catch (const Error& error) {
    refuse_named(error, op, other);
  }
}

}  // namespace opyard::kernels
