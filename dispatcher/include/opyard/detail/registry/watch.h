// opyard/detail/registry/watch.h: listener for every kernel that runs, on every thread (watcher).
//
//   class Counter : public Watcher { … } counter;      // lives as long as the process
//   start_watching(counter);
//   …                                                  // calls, redispatches, on any thread
//   stop_watching(counter);
//
// While someone watches, each slot that takes calls leads to one record with the role Watch, which
// tells all watchers and goes on to what the slot leads to without it. Starting and stopping
// rewrite the tables; while no one watches nothing of it is on the path of a call.
//
// The dispatch log (registry/dispatch_log.h) is one watcher, a profile another. What wants to
// see the calls of one thread within a scope takes observe/observer.h.
//
// Depends on: registry/record.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "opyard/detail/registry/record.h"
#include "opyard/keys/dispatch_key_set.h"

namespace opyard {

class Operator;

// One run of a kernel.
struct KernelRun {
  const Operator& op;
  DispatchKeySet keys;    // the highest one names the slot
  const Record& record;   // what takes the call; may be one that raises, such as a missing kernel
  bool redispatch;        // another kernel of this thread passed the call on
  bool boxed;             // the call has its arguments on a stack
  std::uint32_t nesting;  // how many kernels of observed calls this thread is inside of
  // A word for a profile, of this operator and slot, which is 0 at first; null if interpreters see
  // different records there. A registration does not change it.
  std::atomic<std::uint64_t>* note;
};

// Told on the calling thread; must neither throw nor call operators.
class OPYARD_API Watcher {
 public:
  // Whether it wants to see arguments. If it does, calls without a stack get one.
  virtual bool wants_values() const noexcept { return false; }
  // The arguments of a call that is boxed; none for others.
  virtual void on_enter(const KernelRun& kernel, std::span<const Value> arguments) noexcept = 0;
  // The kernel returned, or threw. Told if on_enter() was, even after stop_watching().
  virtual void on_exit(const KernelRun& kernel) noexcept = 0;

 protected:
  ~Watcher() =
      default;  // a call that has begun tells it of its end whenever that is, so it lives for ever
};

// A watcher that watches already is left as it is. Raises bad_alloc, and Unsupported for more than
// eight in a process.
OPYARD_API void start_watching(Watcher& watcher);
OPYARD_API void stop_watching(Watcher& watcher) noexcept;
OPYARD_API bool is_watching(const Watcher& watcher) noexcept;

}  // namespace opyard
