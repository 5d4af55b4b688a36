// opyard/thread/thread_context.h: capture of a thread's dispatch state, for another thread.
//
//   const ThreadContext context = ThreadContext::capture();
//   std::thread([context] {
//     const ThreadContextScope scope(context);
//     op.call(x);   // sees the modes and keys of the thread that captured
//   });
//
// A context has the include and exclude sets, the gradient mode, the modes, and the dispatcher of
// its own. Observers are not part of it: they belong to the thread that they were installed on.
// Copying one counts; it may be held for as long as wanted, entered on several threads at once, and
// dropped on any.
//
// Depends on: keys/gradient_mode.h, thread/modes.h, thread/thread_dispatcher.h.
#pragma once

#include <vector>

#include "opyard/detail/thread/thread_dispatcher.h"
#include "opyard/keys/gradient_mode.h"
#include "opyard/thread/modes.h"

namespace opyard {

class OPYARD_API ThreadContext {
 public:
  // Of this thread, as it is now.
  static ThreadContext capture();

  LocalKeys keys() const noexcept { return keys_; }
  GradientMode gradient_mode() const noexcept { return gradient_mode_; }
  const std::vector<ModePtr>& modes() const noexcept { return modes_; }

 private:
  friend class ThreadContextScope;
  ThreadContext() = default;

  LocalKeys keys_;  // without what the others add
  GradientMode gradient_mode_ = GradientMode::Gradients;
  std::vector<ModePtr> modes_;
  Interpreter* dispatcher_ = nullptr;
};

// Puts a context in the place of this thread's own for a scope. Left on the thread it was made on.
class OPYARD_API ThreadContextScope {
 public:
  explicit ThreadContextScope(const ThreadContext& context);
  ThreadContextScope(const ThreadContextScope&) = delete;
  ThreadContextScope& operator=(const ThreadContextScope&) = delete;
  ~ThreadContextScope();

 private:
  std::vector<ModePtr> former_modes_;
  Interpreter* former_dispatcher_ = nullptr;
  LocalKeys former_keys_;
  GradientMode former_gradient_mode_;
};

}  // namespace opyard
