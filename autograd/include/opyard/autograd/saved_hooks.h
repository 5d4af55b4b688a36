// opyard/autograd/saved_hooks.h: hooks that pack and unpack the tensors that functions save.
//
//   { const SavedHooksScope scope(hooks);  y = a * b; }       hooks->pack(a), hooks->pack(b)
//   backward(y);                                              unpack() of what they gave
//
// A function keeps what pack() gave in place of the tensor. So activations may be on a disk until
// they are needed, or not be kept at all and be computed again.
//
// [Cost] The first scope in a process exchanges the functions of the tape, and the end of the last
// one puts them back, see registry/exchange_tape.h. Meanwhile calls are taped the long way, and
// those of threads with hooks pack when they are done. A packed tensor is found by a test that each
// saved tensor has anyway: the version of its placeholder is never the one that was noted.
//
// [Packed] What pack() gave is a function that is never run. It is the history of the saved tensor,
// and its one edge leads to the history that the tensor had. So a garbage collector sees what it
// holds as it sees a backward in Python: see detail/autograd/kept.h.
//
// Threads: a scope belongs to its thread. pack() and unpack() are called on any, without a lock.
//
// Depends on: autograd/{function,hooks}.h.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "opyard/autograd/function.h"
#include "opyard/autograd/hooks.h"

namespace opyard::autograd {

// The placeholder of a saved tensor, which owns what pack() gave. See [Packed].
class OPYARD_API Packed : public Function {
 public:
  Packed() : Function(std::uint64_t{0}) {}

  virtual Tensor unpack() = 0;
  Gradients apply(Gradients gradients) final;
  std::string name() const override { return "Packed"; }

  // What has the tangent that a result got after it was packed; the level of the tangent frees it.
  Tensor dual;
};

class OPYARD_API SavedHooks : public Counted {
 public:
  // Called without gradients. The tensor has no history, unless it is a leaf, and must not be
  // written.
  virtual CountedPtr<Packed> pack(const Tensor& tensor) = 0;
  // Told of the results of calls that were taped, whose function may own what pack() gave: an
  // interpreter whose collector looks at some tensors alone looks at these from then on.
  virtual void gave(const Tensor&) {}
};
using SavedHooksPtr = CountedPtr<SavedHooks>;

// The hooks of a thread, innermost last, and why there may be no more.
struct ThreadSavedHooks {
  std::vector<SavedHooksPtr> stack;
  std::optional<std::string> refusal;
};

// Null if the thread has none.
OPYARD_API SavedHooksPtr current_saved_hooks();
// Raises BadValue while they are disabled, with the words of who did that.
OPYARD_API void push_saved_hooks(SavedHooksPtr hooks);
// Takes away the innermost block of these hooks. Raises BadValue if there is none. Needs no memory.
OPYARD_API void pop_saved_hooks(const SavedHooks& hooks);
// From now on on this thread; nothing enables them. Gives what was. Raises BadValue if there are
// hooks.
OPYARD_API std::optional<std::string> disable_saved_hooks(std::optional<std::string> refusal);
OPYARD_API const std::optional<std::string>& saved_hooks_disabled();

// How many blocks all threads are in: 0 if the tape packs nothing. A thread that ends leaves its
// own.
OPYARD_API std::size_t saved_hooks_in_use() noexcept;

// All of a thread, for another one that goes on with its work.
OPYARD_API ThreadSavedHooks copy_saved_hooks();
OPYARD_API ThreadSavedHooks exchange_saved_hooks(ThreadSavedHooks hooks);

// These hooks pack and unpack what calls save, on this thread, while the scope lives.
class SavedHooksScope {
 public:
  explicit SavedHooksScope(SavedHooksPtr hooks) : hooks_(std::move(hooks)) {
    push_saved_hooks(hooks_);
  }
  SavedHooksScope(const SavedHooksScope&) = delete;
  SavedHooksScope& operator=(const SavedHooksScope&) = delete;
  ~SavedHooksScope() { pop_saved_hooks(*hooks_); }

 private:
  const SavedHooksPtr hooks_;
};

}  // namespace opyard::autograd
