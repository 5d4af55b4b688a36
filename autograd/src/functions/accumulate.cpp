// autograd/functions/accumulate.cpp: adding up the gradient of a leaf.
//
// [Adding] The gradient is taken out, added to without the lock, and put back; a second thread that
// comes meanwhile finds none and puts its own there, and the first adds that. So nothing is lost,
// and no lock is held while an operator runs.
#include "opyard/autograd/accumulate.h"

#include <mutex>

#include "functions/calls.h"
#include "functions/locks.h"
#include "opyard/keys/gradient_mode.h"

namespace opyard::autograd {
namespace {

// Whether no other owner can see its elements.
bool is_ours_alone(const Tensor& tensor) {
  return tensor.impl()->is_unshared() && tensor.impl()->storage()->is_unshared() &&
         tensor.is_contiguous();
}

}  // namespace

Accumulate::Accumulate(Expected of) : Function(kLastSequence) { add_input(std::move(of)); }

Tensor Accumulate::gradient() const {
  const std::lock_guard lock(gradients_lock());
  return gradient_;
}

void Accumulate::set_gradient(Tensor gradient) {
  const std::lock_guard lock(gradients_lock());
  std::swap(gradient_, gradient);  // the former one dies without the lock
}

// See [Adding].
void Accumulate::add(Tensor gradient) {
  while (gradient.defined()) {
    Tensor there;
    {
      const std::lock_guard lock(gradients_lock());
      if (!gradient_.defined()) {
        std::swap(gradient_, gradient);
        return;
      }
      std::swap(there, gradient_);
    }
    try {
      if (gradients_enabled() || find_state(there) != nullptr) {
        gradient = calls::add(there, gradient);
      } else {
        calls::add_in_place(there, gradient);
        gradient = std::move(there);
      }
    } catch (...) {
      const std::lock_guard lock(gradients_lock());
      if (!gradient_.defined()) std::swap(gradient_, there);
      throw;
    }
  }
}

Gradients Accumulate::apply(Gradients gradients) {
  Tensor gradient = std::move(gradients[0]);
  if (!gradient.defined() || !is_wanted()) return {};
  if (!gradients_enabled() && !is_ours_alone(gradient)) gradient = calls::clone(gradient);
  add(std::move(gradient));
  return {};
}

}  // namespace opyard::autograd
