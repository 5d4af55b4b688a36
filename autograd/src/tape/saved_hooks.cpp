// autograd/tape/saved_hooks.cpp: the stacks of hooks of saved tensors, one for each thread.
#include "tape/packing_tape.h"

#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "functions/gradient_error.h"
#include "functions/locks.h"
#include "opyard/autograd.h"

namespace opyard::autograd {
namespace {

// How many hooks all threads have. Guarded by the library's lock.
std::size_t in_use = 0;

void count(std::size_t added, std::size_t removed) {
  if (added == removed) return;
  const std::lock_guard lock(gradients_lock());
  const bool before = in_use != 0;
  in_use += added;
  in_use -= removed;
  if (before != (in_use != 0)) pack_while_taping(in_use != 0);
}

// A thread that ends with hooks of its own has them no more: the tape is as it was.
struct OwnedByThread {
  std::unique_ptr<ThreadSavedHooks> hooks;
  ~OwnedByThread() {
    if (hooks == nullptr) return;
    try {
      count(0, hooks->stack.size());
    } catch (const std::bad_alloc&) {  // then it packs on
    }
  }
};

// Behind a pointer: a library that is opened late has little room for what each thread has.
ThreadSavedHooks& here() {
  static thread_local OwnedByThread own;
  if (own.hooks == nullptr) own.hooks = std::make_unique<ThreadSavedHooks>();
  return *own.hooks;
}

}  // namespace

Gradients Packed::apply(Gradients) {
  fail(ErrorKind::Internal, "a packed tensor was run as a function; it stands for a saved tensor");
}

SavedHooksPtr current_saved_hooks() {
  const ThreadSavedHooks& hooks = here();
  return hooks.stack.empty() ? SavedHooksPtr() : hooks.stack.back();
}

void push_saved_hooks(SavedHooksPtr hooks) {
  ThreadSavedHooks& own = here();
  if (own.refusal) fail_gradient(ErrorKind::BadValue, *own.refusal);
  arm();
  own.stack.push_back(std::move(hooks));
  count(1, 0);
}

void pop_saved_hooks(const SavedHooks& hooks) {
  std::vector<SavedHooksPtr>& stack = here().stack;
  auto found = stack.end();
  while (found != stack.begin() && (found - 1)->get() != &hooks) --found;
  OPYARD_CHECK_GRADIENT(found != stack.begin(), BadValue,
                        "this thread has no such hooks of saved tensors that could end");
  const SavedHooksPtr last = std::move(*--found);  // may be an object of a user: dies last
  stack.erase(found);
  count(0, 1);
}

std::optional<std::string> disable_saved_hooks(std::optional<std::string> refusal) {
  ThreadSavedHooks& own = here();
  OPYARD_CHECK_GRADIENT(!refusal || own.stack.empty(), BadValue,
                        "hooks of saved tensors cannot be disabled inside of a block that has "
                        "some: " +
                            *refusal);
  return std::exchange(own.refusal, std::move(refusal));
}

const std::optional<std::string>& saved_hooks_disabled() { return here().refusal; }

std::size_t saved_hooks_in_use() noexcept {
  const std::lock_guard lock(gradients_lock());
  return in_use;
}

ThreadSavedHooks copy_saved_hooks() { return here(); }

ThreadSavedHooks exchange_saved_hooks(ThreadSavedHooks hooks) {
  if (!hooks.stack.empty()) arm();
  const std::size_t added = hooks.stack.size();
  ThreadSavedHooks former = std::exchange(here(), std::move(hooks));
  count(added, former.stack.size());
  return former;
}

}  // namespace opyard::autograd
