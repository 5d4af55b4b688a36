// autograd/tape/api.cpp: the public functions: requiring, reading and computing gradients.
#include <fmt/format.h>

#include <atomic>

#include "functions/calls.h"
#include "functions/gradient_error.h"
#include "opyard/autograd.h"
#include "opyard/base/warning.h"

namespace opyard::autograd {
namespace {

void require_defined(const Tensor& tensor, const char* what) {
  OPYARD_CHECK(tensor.defined(), BadArgument,
               std::string(what) + ": the tensor is undefined, and has no gradient");
}

[[noreturn]] OPYARD_COLD void refuse_shape(const Tensor& gradient, const Tensor& root,
                                           std::size_t i) {
  fail(ErrorKind::BadShape,
       fmt::format("Mismatch in shape: grad_output[{0}] has a shape of {1} and output[{0}] has a "
                   "shape of {2}.",
                   i, describe_sizes(gradient.sizes()), describe_sizes(root.sizes())));
}

std::vector<Root> roots_of(std::span<const Tensor> roots, std::span<const Tensor> gradients,
                           bool create_graph) {
  if (!gradients.empty() && gradients.size() != roots.size()) {
    fail(ErrorKind::BadArgument,
         fmt::format("{} gradients were given for {} tensors", gradients.size(), roots.size()));
  }
  std::vector<Root> all;
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const Tensor& root = roots[i];
    require_defined(root, "backward");
    Edge edge = edge_of(root);
    if (!edge) {
      fail(ErrorKind::BadValue,
           fmt::format("element {} of tensors does not require grad and does not have a grad_fn. "
                       "Call requires_grad_() on what it was computed from, with gradients on",
                       i));
    }
    Tensor gradient = gradients.empty() ? Tensor() : gradients[i];
    if (!gradient.defined()) {
      if (root.numel() != 1) {
        fail(ErrorKind::BadValue,
             fmt::format("grad can be implicitly created only for scalar outputs, and this one is "
                         "{}; give the gradient with which it begins",
                         describe(root)));
      }
      if (is_complex(root.dtype())) {
        fail(ErrorKind::BadValue,
             fmt::format("grad can be implicitly created only for real scalar outputs, and this "
                         "one is {}; give the gradient with which it begins, or take its real part "
                         "or abs() first",
                         describe(root)));
      }
      const GradientModeGuard off(GradientMode::NoGradients);
      gradient = calls::ones_like(root);
    } else {
      if (!std::ranges::equal(gradient.sizes(), root.sizes())) refuse_shape(gradient, root, i);
      OPYARD_CHECK(gradient.device() == root.device(), BadArgument,
                   fmt::format("grad_output[{}] is on {}, and the output on {}", i,
                               to_string(gradient.device()), to_string(root.device())));
      if (is_complex(gradient.dtype()) != is_complex(root.dtype())) {
        fail(
            ErrorKind::BadArgument,
            fmt::format("grad_output[{}] is {}, and the output {}: one of them is complex. Convert "
                        "it with to(), or take its real part",
                        i, describe(gradient), describe(root)));
      }
      if (gradient.dtype() != root.dtype()) {  // taped as the run is
        const GradientModeGuard mode(create_graph ? GradientMode::Gradients
                                                  : GradientMode::NoGradients);
        gradient = calls::to_dtype(gradient, root.dtype());
      }
    }
    all.push_back({std::move(edge), std::move(gradient)});
  }
  return all;
}

Run run_of(const BackwardOptions& options, std::span<const Tensor> inputs) {
  Run run;
  run.keep_graph = options.keep_graph || options.create_graph;
  run.create_graph = options.create_graph;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    require_defined(inputs[i], "grad");
    Edge edge = edge_of(inputs[i]);
    if (!edge) {
      fail(ErrorKind::BadValue, fmt::format("One of the differentiated Tensors does not require "
                                            "grad: input {}, {}",
                                            i, describe(inputs[i])));
    }
    run.inputs.push_back(std::move(edge));
  }
  return run;
}

// Someone asks for the gradient of a result, which is not kept.
OPYARD_COLD void warn_of_no_gradient(const Tensor& tensor) {
  const Edge history = history_of(tensor);
  if (!history) return;  // a leaf
  const Hooks* const hooks = history.function->find_hooks();
  if (hooks != nullptr && hooks->retains(history.input)) return;
  warn_at_once(WarningKind::User,
               fmt::format("The .grad attribute of a Tensor that is not a leaf Tensor is being "
                           "accessed: {}, which {} gave. Its .grad attribute won't be populated "
                           "during backward(). Call retain_grad() on it before backward(), or ask "
                           "the leaf that you mean",
                           describe(tensor), history.function->name()));
}

// Before anything is done.
void warn_of_cycle() {
  static constinit std::atomic<bool> said{false};
  if (!opyard::detail::has_turn(said)) return;
  warn_at_once(WarningKind::User,
               "Using backward() with create_graph=True will create a reference cycle between the "
               "parameter and its gradient which can cause a memory leak: the gradient keeps the "
               "graph that leads to the parameter, which keeps the gradient. Use grad() to create "
               "the graph, or reset the .grad of parameters to None after use");
}

}  // namespace

const Tensor& require_gradient(const Tensor& tensor, bool required) {
  require_defined(tensor, "requires_grad");
  if (!required) {
    const TensorState* const state = find_state(tensor);
    if (state == nullptr) return tensor;
    OPYARD_CHECK_GRADIENT(
        is_leaf(tensor), BadValue,
        "you can only change requires_grad flags of leaf variables. If you want to use a "
        "computed variable in a subgraph that doesn't require differentiation use "
        "var_no_grad = var.detach().");
    require_state(tensor).required.store(false);
    if (Accumulate* const known = state->accumulate.get()) known->set_wanted(false);
    return tensor;
  }
  OPYARD_CHECK_GRADIENT(
      is_floating_point(tensor.dtype()) || is_complex(tensor.dtype()), BadArgument,
      "only Tensors of floating point and complex dtype can require gradients, and this "
      "one is " +
          describe(tensor));
  OPYARD_CHECK_GRADIENT(
      !tensor.impl()->has_mark(TensorImpl::kInference) || is_inference(), BadValue,
      "an inference tensor cannot require a gradient; it was made under inference_mode: "
      "clone() it first");
  arm();
  if (requires_gradient(tensor)) return tensor;
  TensorState& state = require_state(tensor);
  if (Accumulate* const known = state.accumulate.get()) known->set_wanted(true);
  state.required.store(true);
  note_leaf(tensor);
  return tensor;
}

Tensor gradient_of(const Tensor& tensor) {
  require_defined(tensor, "grad");
  const TensorState* const state = find_state(tensor);
  if (state != nullptr && state->accumulate) {
    if (Tensor known = state->accumulate.get()->gradient(); known.defined()) return known;
  }
  if (__builtin_expect(requires_gradient(tensor), 0)) warn_of_no_gradient(tensor);
  return {};
}

void set_gradient(const Tensor& tensor, const Tensor& gradient) {
  require_defined(tensor, "grad");
  if (!gradient.defined()) {
    const TensorState* const state = find_state(tensor);
    if (state != nullptr && state->accumulate) state->accumulate.get()->set_gradient({});
    return;
  }
  OPYARD_CHECK_GRADIENT(std::ranges::equal(gradient.sizes(), tensor.sizes()), BadShape,
                        fmt::format("the gradient of {} has its sizes, and not those of {}",
                                    describe(tensor), describe(gradient)));
  OPYARD_CHECK_GRADIENT(
      gradient.dtype() == tensor.dtype() && gradient.device() == tensor.device(), BadArgument,
      fmt::format("the gradient of {} has its dtype and device, and not those of {}",
                  describe(tensor), describe(gradient)));
  OPYARD_CHECK_GRADIENT(!gradient.same(tensor), BadValue, "a tensor cannot be its own gradient");
  arm();  // who asks for the gradient of a tensor asks nobody before
  require_accumulate(tensor).set_gradient(gradient);
}

void retain_gradient(const Tensor& tensor) {
  require_defined(tensor, "retain_grad");
  const Edge history = history_of(tensor);
  if (!history) {
    OPYARD_CHECK_GRADIENT(requires_gradient(tensor), BadValue,
                          "can't retain_grad on Tensor that has requires_grad=False");
    return;  // a leaf keeps it anyway
  }
  auto held = CountedPtr<Accumulate>::share(&require_accumulate(tensor));
  history.function->hooks().retain(history.input, [held](const Tensor& gradient) {
    held->apply({gradient});
    return Tensor();
  });
}

bool retains_gradient(const Tensor& tensor) {
  require_defined(tensor, "retains_grad");
  const Edge history = history_of(tensor);
  const Hooks* const hooks = history ? history.function->find_hooks() : nullptr;
  return hooks != nullptr && hooks->retains(history.input);
}

std::uint64_t add_hook(const Tensor& tensor, Hooks::OfTensor hook, Hooks::Held held) {
  require_defined(tensor, "register_hook");
  const Edge edge = edge_of(tensor);
  OPYARD_CHECK_GRADIENT(edge, BadValue,
                        "cannot register a hook on a tensor that doesn't require gradient");
  return edge.function->hooks().add(edge.input, std::move(hook), std::move(held));
}

bool remove_hook(const Tensor& tensor, std::uint64_t number) {
  const Edge edge = edge_of(tensor);
  return edge && edge.function->find_hooks() != nullptr && edge.function->hooks().remove(number);
}

void reset_hooks(const Tensor& tensor) {
  require_defined(tensor, "reset_hooks");
  const Edge edge = edge_of(tensor);
  if (edge && edge.function->find_hooks() != nullptr) edge.function->hooks().reset(edge.input);
}

void backward(std::span<const Tensor> roots, std::span<const Tensor> gradients,
              const BackwardOptions& options) {
  if (options.create_graph) warn_of_cycle();
  with_gradient_errors([&] {
    Run run = run_of(options, options.inputs);
    run.accumulate = true;
    for (const Tensor& input : options.inputs) retain_gradient(input);  // nothing for a leaf
    execute(roots_of(roots, gradients, options.create_graph), run);
  });
}

Gradients grad(std::span<const Tensor> roots, std::span<const Tensor> inputs,
               std::span<const Tensor> gradients, const BackwardOptions& options) {
  return with_gradient_errors([&] {
    const Run run = run_of(options, inputs);
    OPYARD_CHECK(!inputs.empty(), BadArgument, "grad requires non-empty inputs.");
    Gradients found = execute(roots_of(roots, gradients, options.create_graph), run);
    for (const Tensor& gradient : found) {
      if (gradient.defined() || options.allow_unused) continue;
      fail(ErrorKind::BadValue,
           "One of the differentiated Tensors appears to not have been used in the graph. Set "
           "allow_unused=True if this is the desired behavior.");
    }
    return found;
  });
}

InferenceGuard::InferenceGuard(bool on) : former_(gradient_mode()), keys_(local_keys()) {
  if (!on) {
    set_gradient_mode(GradientMode::Gradients);
    set_local_keys({keys_.include | DispatchKeySet(DispatchKey::ADInplaceOrView),
                    keys_.exclude - kAutogradKeys});
    return;
  }
  set_gradient_mode(GradientMode::Inference);
  set_local_keys({keys_.include - DispatchKeySet(DispatchKey::ADInplaceOrView),
                  keys_.exclude | kAutogradKeys});
}

InferenceGuard::~InferenceGuard() {
  set_local_keys(keys_);
  set_gradient_mode(former_);
}

namespace {

class CppFunction final : public Function {
 public:
  CppFunction(std::string name, CppBackward backward)
      : name_(std::move(name)), backward_(std::move(backward)) {}
  Gradients apply(Gradients gradients) override { return backward_(std::move(gradients)); }
  std::string name() const override { return name_; }

 private:
  const std::string name_;
  const CppBackward backward_;
};

}  // namespace

FunctionPtr make_function(std::string name, std::span<const Tensor> inputs, CppBackward backward) {
  OPYARD_CHECK(bool(backward), BadArgument, "make_function: " + name + " was given no function");
  auto function = make_counted<CppFunction>(std::move(name), std::move(backward));
  for (const Tensor& input : inputs) {
    function->add_edge(input.defined() ? edge_of(input) : Edge());
  }
  return function;
}

}  // namespace opyard::autograd
