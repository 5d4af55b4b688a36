// registry/observed_call.cpp: telling observers and watchers of calls.
//
// [Behind] What a slot leads to without the record that watches is in a table of the operator's
// own, its WatchTable (registry/interpreter_tables.h), so that a call finds it without a lock. It
// is written before the slots are; a call that read the slot before reads either what was there or
// what has replaced it, and both live for as long as it is inside (registry/reclaim.cpp).
#include "opyard/detail/registry/observed_call.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "opyard/observe/observer.h"
#include "opyard/registry/next.h"
#include "registry/built_in_records.h"
#include "registry/interpreter_tables.h"

namespace opyard {

constinit WatcherList watchers;

namespace {

// Tells a chain of guards, the outermost first, with observing switched off.
template <typename Tell>
void tell_each(const ObserverGuard* guard, const Tell& what) {
  if (guard == nullptr) return;
  tell_each(guard->outer(), what);
  what(guard->observer());
}
void tell_enter(const ObserverGuard* guards, const Operator& op, DispatchKeySet keys,
                const Stack* arguments) {
  const ExcludeDispatchKeyGuard quiet(DispatchKey::Observe);
  tell_each(guards, [&](Observer& observer) { observer.on_enter(op, keys, arguments); });
}
void tell_exit(const ObserverGuard* guards, const Operator& op, bool threw, const Stack* results) {
  const ExcludeDispatchKeyGuard quiet(DispatchKey::Observe);
  tell_each(guards, [&](Observer& observer) { observer.on_exit(op, threw, results); });
}

DispatchKeySet below_observe(DispatchKeySet keys) {
  return keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, DispatchKey::Observe);
}

void run_observe(const Record&, const Operator& op, DispatchKeySet keys, Stack& stack) {
  const DispatchKeySet below = below_observe(keys);
  const ObserverGuard* const guards = ObserverGuard::innermost();
  tell_enter(guards, op, below, &stack);
  struct Exit {
    const ObserverGuard* guards;
    const Operator& op;
    const Stack& stack;
    bool threw = true;
    ~Exit() { tell_exit(guards, op, threw, threw ? nullptr : &stack); }
  } exit{guards, op, stack};
  op.redispatch_boxed(below, stack);
  exit.threw = false;
}

// How many kernels of observed calls this thread is inside of, and the innermost: its operator, and
// below it whether it is a handler, and the depth of calls. A kernel that calls raises the depth;
// one that redispatches does not. What a handler calls of its own operator is no other call of it.
struct Position {
  std::uint64_t innermost;
  std::uint32_t nesting;
};
constinit thread_local Position position{};

constexpr int kLowBits = 16;
constexpr std::uint64_t kHandler = std::uint64_t{1} << (kLowBits - 1);

std::uint64_t kernel_here(const Operator& op, DispatchKeySet keys) noexcept {
  const bool handles = runtime_index(keys) == runtime_index(DispatchKeySet(DispatchKey::Python));
  return std::uint64_t(reinterpret_cast<std::uintptr_t>(&op)) << kLowBits |
         (detail::local_block.call_depth & (kHandler - 1)) | (handles ? kHandler : 0);
}
// Whether a kernel that begins was passed the call by the innermost one.
bool is_passed_on(std::uint64_t innermost, std::uint64_t kernel) noexcept {
  const std::uint64_t differs = innermost ^ kernel;
  return differs >> kLowBits == 0 &&
         ((differs & (kHandler - 1)) == 0 || (innermost & kHandler) != 0);
}
bool is_observing(const Operator& op) noexcept {
  return position.innermost >> kLowBits ==
         std::uint64_t(reinterpret_cast<std::uintptr_t>(&op)) << kLowBits >> kLowBits;
}

// What is called at this depth, within, is a redispatch of the innermost kernel.
class PassingOn {
 public:
  PassingOn(const Operator& op, DispatchKeySet keys, bool passes_on) : outer_(position.innermost) {
    if (passes_on) position.innermost = kernel_here(op, keys);
  }
  PassingOn(const PassingOn&) = delete;
  PassingOn& operator=(const PassingOn&) = delete;
  ~PassingOn() { position.innermost = outer_; }

 private:
  const std::uint64_t outer_;
};

// Tells the watchers of a record that no slot leads to, for as long as it runs.
class CoveredCall {
 public:
  CoveredCall(const Operator& op, const Record& record, DispatchKeySet keys, Stack& stack,
              bool passed_on)
      : outer_(std::exchange(position.innermost, kernel_here(op, keys))),
        told_(watchers.on.load(std::memory_order_acquire)),
        kernel_{op, keys, record, passed_on, true, ++position.nesting, nullptr} {
    const auto arguments = stack.top(std::min(op.schema().arguments.size(), stack.size()));
    watchers.tell(told_, [&](Watcher& watcher) { watcher.on_enter(kernel_, arguments); });
  }
  CoveredCall(const CoveredCall&) = delete;
  CoveredCall& operator=(const CoveredCall&) = delete;
  ~CoveredCall() {
    watchers.tell(told_, [&](Watcher& watcher) { watcher.on_exit(kernel_); });
    position.innermost = outer_;
    --position.nesting;
  }

 private:
  const std::uint64_t outer_;
  const std::uint8_t told_;
  const KernelRun kernel_;
};

}  // namespace

namespace detail {

// The record's boxed function.
struct BoxedWatch {
  static void run(const Record&, const Operator& op, DispatchKeySet keys, Stack& stack) {
    const ObservedCall observed(op, keys, stack);
    op.run_boxed(observed.next(), keys, stack);
  }
};

bool wants_values(const Record& record) noexcept {
  bool wanted = false;
  if (record.role == RecordRole::Watch) {
    watchers.tell(watchers.on.load(std::memory_order_acquire),
                  [&](const Watcher& watcher) { wanted |= watcher.wants_values(); });
  } else if (record.role == RecordRole::Observe) {
    for (auto* guard = ObserverGuard::innermost(); guard != nullptr; guard = guard->outer()) {
      wanted |= guard->observer().wants_values();
    }
  }
  return wanted;
}

const Record& record_behind(const Operator& op, DispatchKeySet keys) noexcept {
  const auto slot = std::size_t(runtime_index(keys));
  const Record& record = *WatchTable::find(op)->slots[slot].load(std::memory_order_acquire);
  return record.role == RecordRole::PerInterpreter ? op.record_here(keys) : record;
}

ObservedCall::ObservedCall(const Operator& op, const Record& record, DispatchKeySet keys)
    : op_(op), keys_(keys), next_(nullptr), role_(record.role) {
  if (role_ == RecordRole::Watch) {
    begin_watching({});
    return;
  }
  exceptions_ = std::uncaught_exceptions();
  keys_ = below_observe(keys);
  next_ = &op.follow(keys_);
  tell_enter(ObserverGuard::innermost(), op, keys_, nullptr);
}

ObservedCall::ObservedCall(const Operator& op, DispatchKeySet keys, Stack& stack)
    : op_(op), keys_(keys), next_(nullptr), role_(RecordRole::Watch), boxed_(true) {
  begin_watching(stack.top(std::min(op.schema().arguments.size(), stack.size())));
}

// See [Behind].
void ObservedCall::begin_watching(std::span<const Value> arguments) noexcept {
  const WatchTable& behind = *WatchTable::find(op_);
  const auto slot = std::size_t(runtime_index(keys_));
  next_ = behind.slots[slot].load(std::memory_order_acquire);
  if (__builtin_expect(next_->role == RecordRole::PerInterpreter, 0)) {
    next_ = &op_.record_here(keys_);
  } else {
    note_ = &behind.notes[slot];
  }
  const std::uint64_t kernel_of_call = kernel_here(op_, keys_);
  Position& here = position;
  redispatch_ = is_passed_on(here.innermost, kernel_of_call);
  outer_depth_ = std::exchange(here.innermost, kernel_of_call);
  ++here.nesting;
  told_ = watchers.on.load(std::memory_order_acquire);
  if (told_ == 0) return;
  const KernelRun told = kernel();
  watchers.tell(told_, [&](Watcher& watcher) { watcher.on_enter(told, arguments); });
}

KernelRun ObservedCall::kernel() const noexcept {
  return {op_, keys_, *next_, redispatch_, boxed_, position.nesting, note_};
}

ObservedCall::~ObservedCall() {
  if (role_ == RecordRole::Observe) {
    tell_exit(ObserverGuard::innermost(), op_, std::uncaught_exceptions() > exceptions_, nullptr);
    return;
  }
  if (told_ != 0) {
    const KernelRun told = kernel();
    watchers.tell(told_, [&](Watcher& watcher) { watcher.on_exit(told); });
  }
  position.innermost = outer_depth_;
  --position.nesting;
}

}  // namespace detail

const Record& observe_record() {
  static const Record& record = make_built_in_record(RecordRole::Observe, &run_observe, "built in");
  return record;
}

const Record& watch_record() {
  static const Record& record =
      make_built_in_record(RecordRole::Watch, &detail::BoxedWatch::run, "the watchers");
  return record;
}

void run_covered(const Operator& op, const Record& record, DispatchKeySet keys, Stack& stack,
                 bool passed_on) {
  if (watchers.on.load(std::memory_order_relaxed) == 0) return op.run_boxed(record, keys, stack);
  // A kernel that calls another one of its own operator, which it holds, passes the call on to it.
  passed_on |= is_observing(op);
  if (record.role == RecordRole::Watch) {  // it tells of itself
    const PassingOn passing(op, keys, passed_on);
    return op.run_boxed(record, keys, stack);
  }
  const CoveredCall covered(op, record, keys, stack, passed_on);
  op.run_boxed(record, keys, stack);
}

}  // namespace opyard
