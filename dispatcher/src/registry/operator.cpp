// registry/operator.cpp: calling an operator with boxes.
#include "opyard/registry/operator.h"

#include <fmt/format.h>

#include <algorithm>

#include "registry/signature.h"

namespace opyard {
namespace {

std::vector<std::uint16_t> positions_with_keys(const Schema& schema) {
  std::vector<std::uint16_t> positions;
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
    if (carries_keys(*schema.arguments[i].type)) positions.push_back(std::uint16_t(i));
  }
  return positions;
}

DispatchKeySet keys_of_value(const Value& value) {
  if (value.is_tensor()) return value.tensor_unchecked().keys();
  DispatchKeySet keys;
  if (value.is_list()) {
    for (const Value& item : value.items_unchecked()) {
      if (item.is_tensor()) keys = keys | item.tensor_unchecked().keys();
    }
  }
  return keys;
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
       fmt::format("{}: {} values were given, but the call takes {}.\nDeclaration: {}",
                   to_string(op.name()), count, op.schema().arguments.size(), op.declaration()));
}

[[noreturn]] OPYARD_COLD void refuse_results(const Operator& op, const Record& record,
                                             std::ptrdiff_t count) {
  fail(ErrorKind::BadReturn,
       fmt::format("{}: the kernel {} left {} results on the stack, but the schema has {}.\n"
                   "Declaration: {}",
                   to_string(op.name()), record.provenance, count, op.schema().results.size(),
                   op.declaration()));
}

// Raises where a kernel that puts its own results on the stack left other ones than the schema
// has; what a C++ signature returns was checked when the kernel was registered.
void check_results(const Operator& op, const Record& record, std::span<const Value> results) {
  const std::vector<Argument>& wanted = op.schema().results;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (__builtin_expect(accepts(*wanted[i].type, results[i]), 1)) continue;
    fail(ErrorKind::BadReturn,
         fmt::format("{}: the kernel {} left {} ({}) as result {}, but the schema says {}.\n"
                     "Declaration: {}",
                     to_string(op.name()), record.provenance, name_of(results[i].kind()),
                     to_string(results[i]), i, to_string(*wanted[i].type), op.declaration()));
  }
}

// Operator::signature_ taken apart.
constexpr std::uintptr_t kHandleMade = 1;
const std::type_info* signature_in(std::uintptr_t word) {
  return reinterpret_cast<const std::type_info*>(word & ~kHandleMade);
}

// Takes what a call left above its caller's values off the stack, unless it went well.
class StackRestorer {
 public:
  StackRestorer(Stack& stack, std::size_t below) noexcept : stack_(stack), below_(below) {}
  StackRestorer(const StackRestorer&) = delete;
  StackRestorer& operator=(const StackRestorer&) = delete;
  ~StackRestorer() {
    if (!done_) stack_.truncate(below_);
  }
  void done() noexcept { done_ = true; }

 private:
  Stack& stack_;
  const std::size_t below_;
  bool done_ = false;
};

std::size_t values_below(const Stack& stack, std::size_t arguments) {
  return stack.size() < arguments ? 0 : stack.size() - arguments;
}

}  // namespace

Operator::Operator(Schema schema, const Record& initial)
    : mask_(~std::uint64_t{0}),
      schema_(std::move(schema)),
      declaration_(to_string(schema_)),
      key_positions_(positions_with_keys(schema_)) {
  for (auto& slot : slots_) slot.store(&initial, std::memory_order_relaxed);
}

void Operator::check_arguments(std::span<const Value> arguments) const {
  if (arguments.size() != schema_.arguments.size()) refuse_count(*this, arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!accepts(*schema_.arguments[i].type, arguments[i])) refuse_argument(*this, i, arguments[i]);
  }
}

void Operator::call_boxed(Stack& stack) const {
  const std::size_t count = schema_.arguments.size();
  StackRestorer restorer(stack, values_below(stack, count));
  check_arguments(stack.top(std::min(count, stack.size())));
  restorer.done();
  call_boxed_unchecked(stack);
}

void Operator::call_boxed_at(DispatchKey key, Stack& stack) const {
  const std::size_t count = schema_.arguments.size();
  StackRestorer restorer(stack, values_below(stack, count));
  if (!is_known(key) || !is_runtime_key(key) || key == DispatchKey::ThreadEntry) {
    fail(ErrorKind::BadValue,
         fmt::format(
             "{} cannot be called at {}: name the key of one backend, or of a layer that has "
             "no backends",
             to_string(name()), to_string(key)));
  }
  check_arguments(stack.top(std::min(count, stack.size())));
  restorer.done();
  detail::enter_thread();
  const detail::CallDepth depth;
  const DispatchKeySet keys =
      (call_keys(stack.top(count)) & DispatchKeySet(DispatchKeySet::FULL_AFTER, key)) |
      DispatchKeySet(key);
  run_boxed(*slots_[slot_of(key)].load(std::memory_order_acquire), keys, stack);
}

void Operator::call_boxed_unchecked(Stack& stack) const {
  const detail::CallDepth depth;
  const DispatchKeySet keys = call_keys(stack.top(schema_.arguments.size()));
  run_boxed(record(keys), keys, stack);
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
  const std::size_t below = values_below(stack, schema_.arguments.size());
  StackRestorer restorer(stack, below);
  record.boxed(record, *this, keys, stack);
  if (__builtin_expect(!schema_.variadic_results, 1)) {
    const auto results = std::ptrdiff_t(stack.size()) - std::ptrdiff_t(below);
    if (__builtin_expect(results != std::ptrdiff_t(schema_.results.size()), 0)) {
      refuse_results(*this, record, results);
    }
    if (record.typed == nullptr) check_results(*this, record, stack.top(schema_.results.size()));
  }
  restorer.done();
}

DispatchKeySet Operator::argument_keys(std::span<const Value> arguments) const {
  DispatchKeySet keys;
  for (const std::uint16_t position : key_positions_) {
    keys = keys | keys_of_value(arguments[position]);
  }
  return keys;
}

DispatchKeySet Operator::call_keys(std::span<const Value> arguments) const {
  return call_keys(argument_keys(arguments));
}

const Record& Operator::settle(DispatchKeySet& keys) const {
  for (;;) {
    const Record& found = record(keys);
    switch (found.role) {
      case RecordRole::ThreadEntry:
        detail::enter_thread();
        keys = DispatchKeySet(DispatchKeySet::RAW, keys.raw() & ~detail::kThreadEntryBit);
        break;
      case RecordRole::Fallthrough:
        keys = keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, keys.highest_layer());
        break;
      default:
        return found;
    }
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
    fail(ErrorKind::BadSignature,
         fmt::format("{} cannot be called as {}. {}\nDeclaration: {}", to_string(schema_.name),
                     readable(signature), *difference, declaration_));
  }
  if (!fix_signature(signature, true)) {
    const std::uintptr_t known = signature_.load(std::memory_order_acquire);
    fail(ErrorKind::BadSignature,
         fmt::format("Tried to call {} with a wrong C++ signature.\n"
                     "  correct signature: {}\n  called as:         {}",
                     to_string(schema_.name),
                     known != 0 ? readable(*signature_in(known)) : "none any more",
                     readable(signature)));
  }
}

}  // namespace opyard
