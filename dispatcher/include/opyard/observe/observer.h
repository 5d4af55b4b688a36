// opyard/observe/observer.h: observers of a thread's calls.
//
// Observing is a layer. While an ObserverGuard lives, the key Observe is in its thread's
// include set; its kernel tells the observers and goes on below. A thread that observes
// nothing pays nothing: its calls never reach that layer.
//
// Depends on: keys/local.h.
#pragma once

#include "opyard/keys/local.h"

namespace opyard {

class Operator;
class Stack;

// Told of each operator call of the threads it is installed on. Both functions are called
// with observing switched off, on the calling thread, and must not throw.
class OPYARD_API Observer {
 public:
  virtual ~Observer();
  // Whether it wants to see arguments and results. Asked at every call; if all observers of a
  // thread say no, nothing is boxed for them.
  virtual bool wants_values() const noexcept { return false; }
  // `keys` is what the call takes below the Observe layer. The arguments are on top of the stack;
  // null if no one wanted values and the call has no stack.
  virtual void on_enter(const Operator& op, DispatchKeySet keys,
                        const Stack* arguments) noexcept = 0;
  // The call returned, and the results are on top of the stack, or it threw, and there is none.
  virtual void on_exit(const Operator& op, bool threw, const Stack* results) noexcept = 0;
};

// Installs an observer on this thread for a scope. Guards nest: an inner call is told to all
// of them, the outermost first.
class OPYARD_API ObserverGuard {
 public:
  explicit ObserverGuard(Observer& observer) noexcept;
  ObserverGuard(const ObserverGuard&) = delete;
  ObserverGuard& operator=(const ObserverGuard&) = delete;
  ~ObserverGuard();

  Observer& observer() const noexcept { return observer_; }
  const ObserverGuard* outer() const noexcept { return outer_; }
  // The innermost guard of this thread, or null.
  static const ObserverGuard* innermost() noexcept;

 private:
  Observer& observer_;
  const ObserverGuard* const outer_;
  IncludeDispatchKeyGuard include_;
};

}  // namespace opyard
