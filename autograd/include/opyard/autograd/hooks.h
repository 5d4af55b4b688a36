// opyard/autograd/hooks.h: hooks of users on backward functions and tensors.
//
//   of a tensor      sees the gradient that arrives at one input, and may give another one for it
//   before           sees all of them; false stops the function
//   after            sees what the function gave, and may give others
//
// They run in this order, those of one kind in the order in which they came; what retains the
// gradient of a tensor is the last of the tensor's. A function that is on the way to nothing, whose
// gradients are only captured, has those of its tensors run and no others. A hook may remove
// itself, or others, while it runs: those of its kind that the run has begun with still run.
//
// What a hook gives for a gradient has its sizes, dtype and device, and there is none for one that
// is undefined: else BadReturn is raised.
//
// Threads: all of it is guarded by one lock for all functions, which is not held while a hook runs.
//
// Depends on: autograd/function.h.
#pragma once

#include <functional>
#include <memory>

#include "opyard/autograd/function.h"

namespace opyard::autograd {

// An object of an interpreter that a hook, a function or a tensor's state keeps, for its garbage
// collector: see detail/autograd/kept.h.
class OPYARD_API HeldObject {
 public:
  virtual ~HeldObject();
  virtual const void* interpreter() const noexcept = 0;  // the tag
  virtual void* object() const noexcept = 0;             // null once it was given up
  virtual void give_up() noexcept = 0;                   // with the interpreter's lock held
};

class OPYARD_API Hooks {
 public:
  // Gives the gradient that is used instead, or an undefined tensor for the same.
  using OfTensor = std::function<Tensor(const Tensor&)>;
  // May change the gradients. False: the function is not run.
  using Before = std::function<bool(Function&, Gradients&)>;
  // `gradients` are the function's results, which it may change; `given` what it was run with.
  using After = std::function<void(Function&, Gradients& gradients, const Gradients& given)>;

  // `held` is what the hook keeps, if it is an object of an interpreter.
  using Held = std::shared_ptr<HeldObject>;
  std::uint64_t add(std::uint32_t input, OfTensor hook, Held held = {});
  std::uint64_t add(Before hook, Held held = {});
  std::uint64_t add(After hook, Held held = {});
  // Runs before the others that come after the function.
  std::uint64_t add_first(After hook, Held held = {});
  // Runs after those of the tensor, once for each input however often it is added.
  void retain(std::uint32_t input, OfTensor keep);
  bool retains(std::uint32_t input) const;
  // Whether there was such a hook.
  bool remove(std::uint64_t number) noexcept;
  // Takes away those of one tensor that were added, and nothing that retains its gradient.
  void reset(std::uint32_t input);
  // Takes what keeps the gradient of an input to another function, as when a tensor is written in
  // place. Hooks stay: they see the gradient of what the tensor was when they were added.
  void move_retaining(std::uint32_t input, Hooks& to, std::uint32_t to_input);

  // Keeps an object as long as the function lives, the first one of each interpreter; gives that.
  Held keep(Held held);
  Held find_kept(const void* interpreter) const;

  std::vector<Held> held() const;
  // Shows what hooks keep, with the lock held, until `visit` gives another number than 0.
  int visit_held(int (*visit)(const HeldObject& held, void* argument), void* argument) const;

  void run_of_tensors(Function& function, Gradients& gradients) const;
  // False if the function is not to be run.
  bool run_before(Function& function, Gradients& gradients) const;
  void run_after(Function& function, Gradients& gradients, const Gradients& given) const;

 private:
  enum class Order : std::uint8_t { OfTensor, Retains, Before, FirstAfter, After, Kept };
  struct Hook {
    Order order;
    std::uint64_t number;
    std::uint32_t input;
    std::shared_ptr<const OfTensor> of_tensor;
    std::shared_ptr<const Before> before;
    std::shared_ptr<const After> after;
    Held held;
  };
  std::uint64_t add(Hook hook);
  std::vector<Hook> all() const;

  std::vector<Hook> hooks_;  // by their order
};

}  // namespace opyard::autograd
