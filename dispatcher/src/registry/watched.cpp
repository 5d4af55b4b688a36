// registry/watched.cpp: telling observers of calls, and showing them.
#include "opyard/registry/watched.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

#include "opyard/base/warning.h"
#include "opyard/observe/observer.h"
#include "opyard/registry/registry.h"
#include "opyard/registry/trace.h"
#include "registry/built_in_records.h"

namespace opyard {
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

// How many traced calls this thread is inside of, and how deep the innermost stood in calls.
constinit thread_local int trace_nesting = 0;
constinit thread_local std::uint64_t trace_depth = 0;

// A kernel that calls again raises the depth; one that redispatches does not.
std::uint64_t show_call(const Operator& op, DispatchKeySet keys, bool boxed) {
  const std::uint64_t depth = detail::local_block.call_depth;
  const bool redispatch = trace_nesting > 0 && trace_depth == depth;
  const std::string line = std::string(std::size_t(++trace_nesting), ' ') +
                           (redispatch ? "[redispatch" : "[call") + (boxed ? "Boxed" : "") +
                           "] op=[" + to_string(op.name()) + "], key=[" +
                           to_string(key_of_slot(runtime_index(keys))) + "]\n";
  std::fputs(line.c_str(), stderr);
  return std::exchange(trace_depth, depth);
}
void leave_shown_call(std::uint64_t outer) noexcept {
  trace_depth = outer;
  --trace_nesting;
}

// What the slot would lead to without the trace.
const Record& behind_trace(const Operator& op, DispatchKeySet keys) {
  return *Registry::instance().resolve(op, key_of_slot(runtime_index(keys))).record;
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

void run_trace(const Record&, const Operator& op, DispatchKeySet keys, Stack& stack) {
  struct Shown {
    const std::uint64_t outer;
    ~Shown() { leave_shown_call(outer); }
  } shown{show_call(op, keys, true)};
  const Record& record = behind_trace(op, keys);
  op.run_boxed(record, keys, stack);
}

// The environment variable, read once, when libopyard is loaded.
void read_environment() {
  const char* const value = std::getenv("OPYARD_SHOW_DISPATCH_TRACE");
  if (value == nullptr || std::strcmp(value, "0") == 0) return;
  if (std::strcmp(value, "1") == 0) return set_dispatch_trace(true);
  warn(std::string("ignoring invalid value for OPYARD_SHOW_DISPATCH_TRACE: ") + value +
       "; valid values are 0 or 1.");
}
[[maybe_unused]] const Status environment_read = guarded([] { read_environment(); });

}  // namespace

const Record& observe_record() {
  static const Record& record = make_built_in_record(RecordRole::Observe, &run_observe, "built in");
  return record;
}

const Record& trace_record() {
  static const Record& record =
      make_built_in_record(RecordRole::Trace, &run_trace, "the dispatch trace");
  return record;
}

void set_dispatch_trace(bool on) { Registry::instance().set_traced(on); }
bool dispatch_trace() { return Registry::instance().is_traced(); }

namespace detail {

bool wants_values(const Record& record) noexcept {
  if (record.role != RecordRole::Observe) return false;
  for (auto* guard = ObserverGuard::innermost(); guard != nullptr; guard = guard->outer()) {
    if (guard->observer().wants_values()) return true;
  }
  return false;
}

WatchedCall::WatchedCall(const Operator& op, const Record& record, DispatchKeySet keys)
    : op_(op), role_(record.role), keys_(keys), exceptions_(std::uncaught_exceptions()), outer_(0) {
  if (role_ == RecordRole::Observe) {
    keys_ = below_observe(keys);
    next_ = &op.settle(keys_);
    tell_enter(ObserverGuard::innermost(), op, keys_, nullptr);
  } else {
    next_ = &behind_trace(op, keys);
    outer_ = show_call(op, keys, false);
  }
}

WatchedCall::~WatchedCall() {
  if (role_ == RecordRole::Observe) {
    tell_exit(ObserverGuard::innermost(), op_, std::uncaught_exceptions() > exceptions_, nullptr);
  } else {
    leave_shown_call(outer_);
  }
}

}  // namespace detail
}  // namespace opyard
