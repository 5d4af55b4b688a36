// registry/register_call.cpp: calls from registers that do not end in a typed function at once.
//
// What only takes boxes gets them: a boxed kernel, a boxed fallback, a Python function, an observer
// that wants values. The stack borrows the arguments. What is used a last time is dropped when the
// kernel has returned: moving it onto the stack instead costs a nanosecond more than borrowing it.
#include <fmt/format.h>

#include "opyard/detail/registry/gradient_slot.h"
#include "opyard/detail/registry/observed_call.h"
#include "opyard/registry/operator.h"

namespace opyard {
namespace {

[[noreturn]] OPYARD_COLD void refuse_open_count(const Operator& op) {
  fail(ErrorKind::Unsupported,
       fmt::format("{} cannot be called from registers, since its schema leaves the number of "
                   "arguments or results open; call it with a stack.\nDeclaration: {}",
                   to_string(op.name()), op.declaration()));
}

}  // namespace

DispatchKeySet Operator::far_keys(const RegisterCall& call) const {
  DispatchKeySet keys;
  for (std::size_t i = 64; i < plan_.size(); ++i) {
    const Value& value = *call.arguments[i];
    if (plan_[i].carries_keys) {
      keys = keys | (value.is_tensor() ? value.tensor_unchecked().keys() : keys_inside(value));
    }
  }
  return keys;
}

void Operator::call_from_registers(const Record& found, DispatchKeySet keys, std::uint32_t outer,
                                   const RegisterCall& call) const {
  const detail::CallDepth depth;
  detail::end_reading(outer);
  run_from_registers(found.role == RecordRole::Kernel ? found : follow(keys), keys, call);
}

void Operator::run_from_registers(const Record& record, DispatchKeySet keys,
                                  const RegisterCall& call) const {
  if (record.from_registers != nullptr) {
    return record.from_registers(record.typed, record.context, keys, call);
  }
  if (record.role == RecordRole::Tape) {
    bool may_need = false;
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      may_need |= plan_[i].carries_keys && detail::may_need_gradient({call.arguments[i], 1});
    }
    if (detail::passes(record, may_need)) {
      DispatchKeySet below = detail::below_layer(keys);
      const Record& next = follow(below);
      return run_from_registers(next, below, call);
    }
  }
  if (detail::watches(record) && !detail::wants_values(record)) {
    const detail::ObservedCall observed(*this, record, keys);
    return run_from_registers(observed.next(), observed.keys(), call);
  }
  if (schema_.variadic_arguments || schema_.variadic_results) refuse_open_count(*this);
  InlineStack<16> stack;
  for (std::size_t i = 0; i < plan_.size(); ++i) stack.borrow(*call.arguments[i]);
  run_boxed(record, keys, stack);
  // A result may be an argument that the kernel left on the stack, borrowed as it was: it is owned
  // before the register it came from is emptied or written.
  for (std::size_t i = 0; i < result_kinds_.size(); ++i) stack[i] = Value(std::move(stack[i]));
  call.drop_last_uses();
  for (std::size_t i = 0; i < result_kinds_.size(); ++i) *call.results[i] = std::move(stack[i]);
}

}  // namespace opyard
