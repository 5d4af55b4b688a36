// thread/thread_context.cpp: capture and restore of a thread's keys and modes.
#include "opyard/thread/thread_context.h"

namespace opyard {
namespace {

constexpr DispatchKeySet kObserve(DispatchKey::Observe);

// These sets, but observing as this thread does.
LocalKeys observed_here(LocalKeys keys) noexcept {
  const LocalKeys own = local_keys();
  const auto mixed = [](DispatchKeySet theirs, DispatchKeySet ours) {
    return DispatchKeySet(DispatchKeySet::RAW,
                          (theirs.raw() & ~kObserve.raw()) | (ours.raw() & kObserve.raw()));
  };
  return {mixed(keys.include, own.include), mixed(keys.exclude, own.exclude)};
}

}  // namespace

ThreadContext ThreadContext::capture() {
  ThreadContext context;
  context.modes_ = thread_modes();
  context.dispatcher_ = thread_dispatcher();
  context.gradient_mode_ = opyard::gradient_mode();
  context.keys_ = local_keys();
  const std::uint64_t added = detail::key_added_by_modes() | detail::key_added_by_dispatcher();
  context.keys_.include = DispatchKeySet(DispatchKeySet::RAW, context.keys_.include.raw() & ~added);
  return context;
}

// Modes and dispatcher leave before the sets change and come after, since they have a part in the
// sets.
ThreadContextScope::ThreadContextScope(const ThreadContext& context) {
  std::vector<ModePtr> modes = context.modes_;
  former_modes_ = exchange_modes({});
  former_dispatcher_ = exchange_thread_dispatcher(nullptr);
  former_keys_ = local_keys();
  former_gradient_mode_ = gradient_mode();
  set_gradient_mode(context.gradient_mode_);
  set_local_keys(observed_here(context.keys_));
  exchange_thread_dispatcher(context.dispatcher_);
  exchange_modes(std::move(modes));
}

ThreadContextScope::~ThreadContextScope() {
  exchange_modes({});
  exchange_thread_dispatcher(nullptr);
  set_gradient_mode(former_gradient_mode_);
  set_local_keys(former_keys_);
  exchange_thread_dispatcher(former_dispatcher_);
  exchange_modes(std::move(former_modes_));
}

}  // namespace opyard
