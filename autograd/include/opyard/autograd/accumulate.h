// opyard/autograd/accumulate.h: AccumulateGrad: the function of a leaf, which adds up x.grad.
//
// It belongs to the state of its tensor and knows nothing of the tensor itself, so that neither
// keeps the other alive. A tensor that is no leaf has one too if it retains its gradient.
//
// A leaf that is told to require no gradient any more gets none from older graphs either.
//
// Threads: any; the gradient is taken and put back under one lock for all, and added without it.
//
// Depends on: autograd/function.h.
#pragma once

#include "opyard/autograd/function.h"

namespace opyard::autograd {

class OPYARD_API Accumulate final : public Function {
 public:
  explicit Accumulate(Expected of);

  Gradients apply(Gradients gradients) override;
  std::string name() const override { return "AccumulateGrad"; }

  // Undefined if nothing was accumulated.
  Tensor gradient() const;
  void set_gradient(Tensor gradient);
  // Whether gradients that come are added.
  bool is_wanted() const noexcept { return is_wanted_.load(std::memory_order_relaxed); }
  void set_wanted(bool wanted) noexcept { is_wanted_.store(wanted, std::memory_order_relaxed); }

 private:
  void add(Tensor gradient);

  Tensor gradient_;
  std::atomic<bool> is_wanted_{true};
};

}  // namespace opyard::autograd
