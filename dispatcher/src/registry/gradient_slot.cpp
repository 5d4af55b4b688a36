// registry/gradient_slot.cpp: the record that hands calls to the tape.
#include "registry/gradient_slot.h"

#include <algorithm>
#include <array>
#include <utility>

#include "opyard/registry/operator.h"

namespace opyard {

constinit std::atomic<bool> detail::tape_armed{false};
constinit std::atomic<const TapeFunctions*> tape_functions{nullptr};
constinit std::atomic<std::uint64_t> derivative_changes{0};

namespace {

// Below a layer where no kernel is: fallthroughs, an interpreter's own kernel, a first call.
[[gnu::noinline]] void run_followed(const Operator& op, DispatchKeySet below, Stack& stack) {
  const Record& next = op.follow(below);
  if (next.typed != nullptr) return next.boxed(next, op, below, stack);
  op.run_boxed(next, below, stack);
}

// Nothing is kept over the call of a kernel, so that it ends this function, too.
inline void run_next(const Operator& op, DispatchKeySet below, Stack& stack) {
  const Record& next = op.record(below);
  if (next.role != RecordRole::Kernel) return run_followed(op, below, stack);
  // What a C++ signature returns is what the schema has.
  if (next.typed != nullptr) return next.boxed(next, op, below, stack);
  op.run_boxed(next, below, stack);
}

[[gnu::noinline]] bool items_may_need_gradient(const Value& list) noexcept {
  return detail::may_need_gradient(list.items_unchecked());
}

inline bool any_may_need_gradient(std::span<const Value> arguments) noexcept {
  for (const Value& value : arguments) {
    if (value.is_tensor()) {
      const Tensor& tensor = value.tensor_unchecked();
      if (tensor.defined() && detail::may_need_gradient(*tensor.impl())) return true;
    } else if (value.is_list() && items_may_need_gradient(value)) {
      return true;
    }
  }
  return false;
}

// With boxes; the ways without them are in registry/typed.h and registry/register_call.cpp.
[[gnu::always_inline]] inline void run_tape_over(std::span<const Value> arguments,
                                                 const Record& record, const Operator& op,
                                                 DispatchKeySet keys, Stack& stack) {
  if (!detail::passes(record, any_may_need_gradient(arguments))) {
    return detail::run_taped(record, op, keys, stack);
  }
  run_next(op, detail::below_layer(keys), stack);
}

// For an operator with so many arguments, which is decided when its record is made.
template <std::size_t kCount>
void run_tape(const Record& record, const Operator& op, DispatchKeySet keys, Stack& stack) {
  run_tape_over(stack.top(kCount), record, op, keys, stack);
}
void run_tape_of_any(const Record& record, const Operator& op, DispatchKeySet keys, Stack& stack) {
  run_tape_over(stack.top(op.schema().arguments.size()), record, op, keys, stack);
}
BoxedFunction tape_function(std::size_t count) {
  constexpr std::array<BoxedFunction, 5> kFew = {&run_tape<0>, &run_tape<1>, &run_tape<2>,
                                                 &run_tape<3>, &run_tape<4>};
  return count < kFew.size() ? kFew[count] : &run_tape_of_any;
}

// Whether it writes an argument, or a result shares memory with one.
bool writes_or_views(const Schema& schema) {
  const auto has_alias = [](const Argument& argument) { return argument.alias.has_value(); };
  return std::any_of(schema.arguments.begin(), schema.arguments.end(), has_alias);
}

}  // namespace

void detail::run_taped(const Record& tape, const Operator& op, DispatchKeySet keys, Stack& stack) {
  tape_functions.load(std::memory_order_acquire)
      ->tape_call(*static_cast<TapedOperator*>(tape.context), op, keys, stack);
}

void detail::run_below(const Operator& op, DispatchKeySet below, Stack& stack) {
  run_next(op, below, stack);
}

bool detail::may_need_gradient(std::span<const Value> arguments) noexcept {
  return any_may_need_gradient(arguments);
}

std::unique_ptr<Record> make_tape_record(const Schema& schema,
                                         CountedPtr<const Derivative> derivative) {
  auto record = std::make_unique<Record>();
  record->role = RecordRole::Tape;
  record->boxed = tape_function(schema.arguments.size());
  record->sees_all = writes_or_views(schema);
  record->provenance = "built in";
  record->context = make_counted<TapedOperator>(std::move(derivative)).release();
  record->destroy = [](void* context) {
    CountedAccess::release(static_cast<TapedOperator*>(context));
  };
  return record;
}

GradientSlot::Records GradientSlot::make(const Schema& schema) const {
  Records records;
  records.push_back(make_tape_record(schema, nullptr));
  for (const Given& one : given) records.push_back(make_tape_record(schema, one.derivative));
  return records;
}

void GradientSlot::take(Records records) noexcept {
  std::swap(plain, records[0]);
  for (std::size_t i = 0; i < given.size(); ++i) std::swap(given[i].record, records[i + 1]);
  for (auto& former : records) {
    if (former != nullptr) retire(std::move(former));
  }
}

}  // namespace opyard
