// opyard/autograd.h: gradients in C++: the public functions of autograd.
//
//   using namespace opyard;
//   autograd::require_gradient(w);
//   Tensor loss = …;                       any operators that have derivatives
//   autograd::backward(loss);
//   Tensor step = autograd::gradient_of(w);
//
//   { const autograd::NoGradGuard off;  … }        nothing is taped here
//
// Link libopyard_autograd. Guides: docs/guides/gradients.md.
//
// Depends on: autograd/{engine,tensor_state,derivative}.h, keys/gradient_mode.h.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <vector>

#include "opyard/autograd/derivative.h"
#include "opyard/autograd/engine.h"
#include "opyard/autograd/hooks.h"
#include "opyard/autograd/saved_tensor.h"
#include "opyard/autograd/tensor_state.h"
#include "opyard/keys/gradient_mode.h"

namespace opyard::autograd {

// From now on calls are taped. Done by whatever makes a tensor require a gradient. Raises
// bad_alloc.
OPYARD_API void arm();

// Raises BadArgument for a tensor of integers, BadValue for one that is no leaf and must not be
// told.
OPYARD_API const Tensor& require_gradient(const Tensor& tensor, bool required = true);
// Undefined if there is none. Warns for a result whose gradient is not retained.
OPYARD_API Tensor gradient_of(const Tensor& tensor);
// Raises BadShape, BadArgument for a gradient of other sizes, dtype or device.
OPYARD_API void set_gradient(const Tensor& tensor, const Tensor& gradient);
// The gradient of a tensor that is no leaf is held as well.
OPYARD_API void retain_gradient(const Tensor& tensor);
// Whether it is, by retain_gradient() or as an input of a backward().
OPYARD_API bool retains_gradient(const Tensor& tensor);
// The hook sees the tensor's gradient, and gives another one or an undefined tensor. Raises
// BadValue for a tensor that requires none.
OPYARD_API std::uint64_t add_hook(const Tensor& tensor, Hooks::OfTensor hook,
                                  Hooks::Held held = {});
OPYARD_API bool remove_hook(const Tensor& tensor, std::uint64_t number);
// Takes away all that were added to the tensor. What retains its gradient stays.
OPYARD_API void reset_hooks(const Tensor& tensor);

// Of backward() and grad().
struct BackwardOptions {
  bool keep_graph = false;
  bool create_graph = false;
  bool allow_unused = false;        // of grad()
  std::vector<Tensor> inputs = {};  // of backward(): only these accumulate
};
// An undefined gradient means 1, for a tensor with one element.
OPYARD_API void backward(std::span<const Tensor> roots, std::span<const Tensor> gradients = {},
                         const BackwardOptions& options = {});
inline void backward(const Tensor& root, const BackwardOptions& options = {}) {
  backward({&root, 1}, {}, options);
}
// The gradients of `roots` for `inputs`; nothing is accumulated.
OPYARD_API Gradients grad(std::span<const Tensor> roots, std::span<const Tensor> inputs,
                          std::span<const Tensor> gradients = {},
                          const BackwardOptions& options = {});

// Nothing is taped on this thread while it lives.
class NoGradGuard {
 private:
  const GradientModeGuard guard_{GradientMode::NoGradients};
};
// Calls are taped on this thread while it lives.
class EnableGradGuard {
 private:
  const GradientModeGuard guard_{GradientMode::Gradients};
};
// Nothing is taped, and tensors that are made here never are.
class OPYARD_API InferenceGuard {
 public:
  explicit InferenceGuard(bool on = true);
  InferenceGuard(const InferenceGuard&) = delete;
  InferenceGuard& operator=(const InferenceGuard&) = delete;
  ~InferenceGuard();

 private:
  const GradientMode former_;
  const LocalKeys keys_;
};

// The keys at which calls are taped.
inline constexpr DispatchKeySet kAutogradKeys{DispatchKey::AutogradOther,
                                              DispatchKey::AutogradFunctionality,
                                              DispatchKey::AutogradNestedTensor};

// A function of a program's own, for set_history().
using CppBackward = std::function<Gradients(Gradients)>;
OPYARD_API FunctionPtr make_function(std::string name, std::span<const Tensor> inputs,
                                     CppBackward backward);

}  // namespace opyard::autograd
