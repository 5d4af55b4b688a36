// registry/operator.cpp: boxed calls of an operator.
#include "opyard/registry/operator.h"

#include <fmt/format.h>

#include <algorithm>

#include "registry/signature.h"

namespace opyard {
namespace {

[[gnu::always_inline]] inline bool is_kind_of(std::uint64_t kinds, const Value& value) {
  return (kinds >> int(value.kind()) & 1) != 0;
}

[[noreturn]] OPYARD_COLD void refuse_argument(const Operator& op, std::size_t position,
                                              const Value& value) {
  const Argument& argument = op.schema().arguments[position];
  fail(ErrorKind::BadArgument,
       fmt::format("{}: argument '{}' at position {} is {} ({}), but the schema accepts {}.\n"
                   "Declaration: {}",
                   to_string(op.name()), argument.name, position, name_of(value.kind()),
                   to_string(value), to_string(*argument.type), op.declaration()));
}

[[noreturn]] OPYARD_COLD void refuse_count(const Operator& op, std::size_t count) {
  fail(ErrorKind::BadArgument,
       fmt::format("{}: the number of values given is {}, but the call takes {}.\nDeclaration: {}",
                   to_string(op.name()), count, op.schema().arguments.size(), op.declaration()));
}

[[noreturn]] OPYARD_COLD void refuse_call_key(const Operator& op, DispatchKey key) {
  fail(ErrorKind::BadValue,
       fmt::format(
           "{} cannot be called at {}: name the key of one backend, or of a layer that has no "
           "backends",
           to_string(op.name()), to_string(key)));
}

[[noreturn]] OPYARD_COLD void refuse_results(const Operator& op, const Record& record,
                                             std::ptrdiff_t count) {
  fail(ErrorKind::BadReturn,
       fmt::format("{}: the kernel {} left {} results on the stack, but the schema has {}.\n"
                   "Declaration: {}",
                   to_string(op.name()), record.provenance.str(), count, op.schema().results.size(),
                   op.declaration()));
}

// Raises if a kernel that puts its own results on the stack left another one than the schema
// has; what a C++ signature returns was checked when the kernel was registered.
OPYARD_COLD void check_result(const Operator& op, const Record& record, std::size_t position,
                              const Value& result) {
  const Type& wanted = *op.schema().results[position].type;
  if (accepts(wanted, result)) return;
  fail(ErrorKind::BadReturn,
       fmt::format("{}: the kernel {} left {} ({}) as result {}, but the schema says {}.\n"
                   "Declaration: {}",
                   to_string(op.name()), record.provenance.str(), name_of(result.kind()),
                   to_string(result), position, to_string(wanted), op.declaration()));
}

// Operator::signature_ taken apart.
const std::type_info* signature_in(std::uintptr_t word) {
  return reinterpret_cast<const std::type_info*>(word & ~kHandleMade);
}

std::size_t values_below(const Stack& stack, std::size_t arguments) {
  return stack.size() < arguments ? 0 : stack.size() - arguments;
}

// Runs a body that consumes the arguments on top of the stack: if it throws, they and what it
// put there are gone. Caught and thrown again, and no object with a destructor: that would be
// written to memory on the way that goes well.
template <typename Body>
[[gnu::always_inline]] inline void consuming(Stack& stack, std::size_t below, const Body& body) {
  try {
    body();
  } catch (...) {
    stack.truncate(below);
    throw;
  }
}

}  // namespace

OPYARD_COLD DispatchKeySet Operator::keys_inside(const Value& value) {
  DispatchKeySet keys;
  if (value.is_generator()) return value.to_generator().keys();
  if (!value.is_list()) return keys;
  for (const Value& item : value.items_unchecked()) {
    if (item.is_tensor()) keys = keys | item.tensor_unchecked().keys();
  }
  return keys;
}

[[gnu::always_inline]] inline DispatchKeySet Operator::keys_of(const Value& value) {
  return value.is_tensor() ? value.tensor_unchecked().keys() : keys_inside(value);
}

Operator::Operator(Schema schema, const Record& initial)
    : schema_(std::move(schema)),
      declaration_(to_string(schema_)),
      plan_([this] {
        std::vector<ArgumentPlan> plan;
        for (const Argument& argument : schema_.arguments) {
          plan.push_back({accepted_kinds(*argument.type), carries_keys(*argument.type)});
        }
        return plan;
      }()),
      key_positions_([this] {
        std::uint64_t positions = 0;
        for (std::size_t i = 0; i < std::min<std::size_t>(plan_.size(), 64); ++i) {
          positions |= std::uint64_t{plan_[i].carries_keys} << i;
        }
        return positions;
      }()),
      result_kinds_([this] {
        std::vector<std::uint64_t> kinds;
        for (const Argument& result : schema_.results)
          kinds.push_back(accepted_kinds(*result.type));
        return kinds;
      }()) {
  table_.mask.store(~std::uint64_t{0}, std::memory_order_relaxed);
  for (auto& slot : table_.slots) slot.store(&initial, std::memory_order_relaxed);
}

[[gnu::always_inline]] inline DispatchKeySet Operator::check_and_join_keys(
    std::span<const Value> arguments) const {
  if (arguments.size() != plan_.size()) refuse_count(*this, arguments.size());
  DispatchKeySet keys;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Value& value = arguments[i];
    if (__builtin_expect(!is_kind_of(plan_[i].accepted_kinds, value), 0) &&
        !accepts(*schema_.arguments[i].type, value)) {
      refuse_argument(*this, i, value);
    }
    if (plan_[i].carries_keys) keys = keys | keys_of(value);
  }
  return keys;
}

void Operator::check_arguments(std::span<const Value> arguments) const {
  static_cast<void>(check_and_join_keys(arguments));
}

// With the arguments above the first `below` values. See run_boxed().
[[gnu::always_inline]] inline void Operator::run_above(std::size_t below, const Record& record,
                                                       DispatchKeySet keys, Stack& stack) const {
  consuming(stack, below, [&] {
    record.boxed(record, *this, keys, stack);
    if (__builtin_expect(schema_.variadic_results, 0)) return;
    const auto results = std::ptrdiff_t(stack.size()) - std::ptrdiff_t(below);
    if (__builtin_expect(results != std::ptrdiff_t(result_kinds_.size()), 0)) {
      refuse_results(*this, record, results);
    }
    // The tape gives what came from a kernel below it, where it was checked.
    if (record.typed != nullptr || record.role == RecordRole::Tape) return;
    for (std::size_t i = 0; i < result_kinds_.size(); ++i) {
      if (!is_kind_of(result_kinds_[i], stack[below + i])) {
        check_result(*this, record, i, stack[below + i]);
      }
    }
  });
}

void Operator::call_boxed(Stack& stack) const {
  const std::size_t count = plan_.size();
  const std::size_t below = values_below(stack, count);
  DispatchKeySet arguments;
  consuming(stack, below,
            [&] { arguments = check_and_join_keys(stack.top(std::min(count, stack.size()))); });
  const detail::CallDepth depth;
  const DispatchKeySet keys = call_keys(arguments);
  run_above(below, record(keys), keys, stack);
}

void Operator::call_boxed_at(DispatchKey key, Stack& stack) const {
  const std::size_t count = plan_.size();
  DispatchKeySet arguments;
  consuming(stack, values_below(stack, count), [&] {
    if (!is_known(key) || !is_runtime_key(key) || key == DispatchKey::ThreadEntry) {
      refuse_call_key(*this, key);
    }
    arguments = check_and_join_keys(stack.top(std::min(count, stack.size())));
  });
  detail::enter_thread();
  const detail::CallDepth depth;
  const DispatchKeySet below(DispatchKeySet::FULL_AFTER, key);
  DispatchKeySet keys = (call_keys(arguments) & below) | DispatchKeySet(key);
  // With a higher backend in it the set would lead past this key.
  for (auto at = backend_of(key); at && keys.highest_backend() != at;) {
    keys = keys.remove_backend(*keys.highest_backend());
  }
  run_boxed(*table_.slots[slot_of(key)].load(std::memory_order_acquire), keys, stack);
}

void Operator::call_boxed_unchecked(Stack& stack) const {
  const detail::CallDepth depth;
  const std::span<const Value> arguments = stack.top(plan_.size());
  const DispatchKeySet keys = call_keys(arguments);
  run_above(stack.size() - arguments.size(), record(keys), keys, stack);
}

void Operator::redispatch_boxed(DispatchKeySet keys, Stack& stack) const {
  if (__builtin_expect(detail::local_block.call_depth == 0, 0)) {
    detail::enter_thread();
    const detail::CallDepth depth;
    return run_boxed(record(keys), keys, stack);
  }
  run_boxed(record(keys), keys, stack);
}

void Operator::run_boxed(const Record& record, DispatchKeySet keys, Stack& stack) const {
  run_above(values_below(stack, plan_.size()), record, keys, stack);
}

DispatchKeySet Operator::argument_keys(std::span<const Value> arguments) const {
  DispatchKeySet keys;
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    if (plan_[i].carries_keys) keys = keys | keys_of(arguments[i]);
  }
  return keys;
}

DispatchKeySet Operator::call_keys(std::span<const Value> arguments) const {
  return call_keys(argument_keys(arguments));
}

const Record& Operator::follow(DispatchKeySet& keys) const {
  const Record* found = &record(keys);
  for (;;) {
    switch (found->role) {
      case RecordRole::ThreadEntry:
        detail::enter_thread();
        keys = DispatchKeySet(DispatchKeySet::RAW, keys.raw() & ~detail::kThreadEntryBit);
        break;
      case RecordRole::Fallthrough:
        keys = keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, keys.highest_layer());
        break;
      case RecordRole::PerInterpreter:
        found = &record_here(keys);
        continue;
      default:
        return *found;
    }
    found = &record(keys);
  }
}

bool Operator::fix_signature(const std::type_info& signature, bool for_handle) const noexcept {
  std::uintptr_t known = signature_.load(std::memory_order_acquire);
  for (;;) {
    if (known != 0 && *signature_in(known) != signature) return false;
    const std::uintptr_t wanted =
        (known != 0 ? known : reinterpret_cast<std::uintptr_t>(&signature)) |
        (for_handle ? kHandleMade : 0);
    if (known == wanted || signature_.compare_exchange_weak(known, wanted)) return true;
  }
}

void Operator::forget_signature() const noexcept {
  std::uintptr_t known = signature_.load(std::memory_order_acquire);
  while ((known & kHandleMade) == 0 && !signature_.compare_exchange_weak(known, 0)) {
  }
}

void Operator::check_signature(const std::type_info& signature, InferredTypes (*infer)()) const {
  const InferredTypes types = infer();
  if (const auto difference = find_difference(schema_, schema_of(types))) {
    const std::string wanted = cpp_signature(schema_);
    fail(ErrorKind::BadSignature,
         fmt::format("{} cannot be called as {}. {}\nDeclaration: {}{}{}", to_string(schema_.name),
                     demangled(signature), *difference, declaration_,
                     wanted.empty() ? "" : "\nIn C++: ", wanted));
  }
  if (!fix_signature(signature, true)) {
    const std::uintptr_t known = signature_.load(std::memory_order_acquire);
    fail(ErrorKind::BadSignature,
         fmt::format("Tried to call {} with a wrong C++ signature.\n"
                     "  correct signature: {}\n  called as:         {}",
                     to_string(schema_.name),
                     known != 0 ? demangled(*signature_in(known)) : "none any more",
                     demangled(signature)));
  }
}

}  // namespace opyard
