// autograd/tape/pullback.cpp: making pullbacks, and running backward from them.
//
// Which inputs require a gradient is in the node's attribute "requires_grad", an integer each, so
// that a graph's text shows it. So are [Through]'s two.
#include "opyard/autograd/pullback.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "functions/calls.h"
#include "opyard/autograd.h"
#include "opyard/detail/base/made_once.h"
#include "opyard/jit/differentiate.h"
#include "opyard/jit/symbol.h"

namespace opyard::autograd {
namespace {

const jit::Symbol& attribute(MadeOnce<jit::Symbol>& name, const char* text) {
  return name.get([&] { return std::make_unique<const jit::Symbol>(jit::Symbol::attr(text)); });
}
const jit::Symbol& flags_name() {
  static constinit MadeOnce<jit::Symbol> name;
  return attribute(name, "requires_grad");
}
const jit::Symbol& through_name() {
  static constinit MadeOnce<jit::Symbol> name;
  return attribute(name, "reaches_through");
}
const jit::Symbol& zeros_name() {
  static constinit MadeOnce<jit::Symbol> name;
  return attribute(name, "gives_zeros");
}

bool takes_tensor(const jit::Value& input) { return input.type()->kind() == TypeKind::Tensor; }

// By tensor among the inputs; all of them if the node does not say.
class Flags {
 public:
  explicit Flags(const jit::Node& node) {
    const jit::Attribute* const found = node.find_attribute(flags_name());
    if (found != nullptr && found->kind() == jit::AttributeKind::is) {
      flags_ = &std::get<std::vector<std::int64_t>>(found->value);
    }
  }
  // Of each input in turn.
  bool next(const jit::Value& input) {
    if (!takes_tensor(input)) return false;
    const std::size_t at = at_++;
    return flags_ == nullptr || (at < flags_->size() && (*flags_)[at] != 0);
  }

 private:
  const std::vector<std::int64_t>* flags_ = nullptr;
  std::size_t at_ = 0;
};

bool gives_pullback(const jit::Node& node) {
  return !node.outputs().empty() && node.outputs().back()->is_pullback();
}
bool makes_pullback(const jit::Node& node) {
  return gives_pullback(node) && node.outputs().back()->has_uses();
}

// While a call is made that a pullback is of, or is not.
class CallMode {
 public:
  explicit CallMode(bool is_taped) {
    is_taped ? static_cast<void>(on_.emplace(false))
             : static_cast<void>(off_.emplace(GradientMode::NoGradients));
  }

 private:
  std::optional<InferenceGuard> on_;
  std::optional<GradientModeGuard> off_;
};

// A node's own function, with a pullback behind what it gives.
class WithPullback final : public jit::Operation {
 public:
  explicit WithPullback(CountedPtr<const jit::Operation> inner) : inner_(std::move(inner)) {}

  void run(std::span<const Value> inputs, std::vector<Value>& outputs) const override {
    inner_->run(inputs, outputs);
  }
  void run_at(const jit::Node& node, std::span<const Value> inputs,
              std::vector<Value>& outputs) const override {
    if (!gives_pullback(node)) return inner_->run_at(node, inputs, outputs);
    const bool is_taped = makes_pullback(node);
    PullbackBuilder builder(is_taped);
    Flags flags(node);
    std::vector<Value> given;
    given.reserve(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      given.push_back(builder.add_input(inputs[i], flags.next(*node.inputs()[i])));
    }
    const std::size_t before = outputs.size();
    {
      const CallMode mode(is_taped);
      inner_->run_at(node, given, outputs);
    }
    for (std::size_t i = before; i < outputs.size(); ++i) {
      outputs[i] = builder.add_output(outputs[i]);
    }
    outputs.push_back(builder.take());
  }
  const jit::Operation* inner() const noexcept override { return inner_.get(); }
  std::string name() const override { return inner_->name(); }

 private:
  const CountedPtr<const jit::Operation> inner_;
};

void check_gradient(const Tensor& gradient, const Edge& edge, std::size_t index) {
  if (edge.input >= edge.function->input_count()) return;
  const Expected& expected = edge.function->input(edge.input);
  const IntSpan sizes(expected.sizes);
  if (!gradient.impl()->has_policy(TensorImpl::kSymbolic) &&
      !std::ranges::equal(gradient.sizes(), sizes)) {
    fail(ErrorKind::BadShape,
         fmt::format("prim::Eval: gradient {} is {}, and the output that it is of has the sizes {}",
                     index, describe(gradient), describe_sizes(sizes)));
  }
  if (gradient.dtype() != expected.dtype || gradient.device() != expected.device) {
    fail(ErrorKind::BadArgument,
         fmt::format("prim::Eval: gradient {} is {}, and the output that it is of is {} on {}",
                     index, describe(gradient), name_of(expected.dtype),
                     to_string(expected.device)));
  }
}

class Eval final : public jit::Operation {
 public:
  void run(std::span<const Value> inputs, std::vector<Value>& outputs) const override {
    evaluate(inputs, nullptr, outputs);
    outputs.pop_back();
  }
  void run_at(const jit::Node& node, std::span<const Value> inputs,
              std::vector<Value>& outputs) const override {
    evaluate(inputs, &node, outputs);
    if (!gives_pullback(node)) outputs.pop_back();
  }
  std::string name() const override { return "Eval"; }

 private:
  static CountedPtr<const Pullback> pullback_of(std::span<const Value> inputs) {
    const Value& last = inputs.empty() ? Value() : inputs.back();
    const auto* const pullback =
        last.is_object() ? dynamic_cast<const Pullback*>(&last.to_object()) : nullptr;
    OPYARD_CHECK(pullback != nullptr, BadArgument,
                 "prim::Eval takes gradients and, last, a pullback, which it was not given");
    return CountedPtr<const Pullback>::share(pullback);
  }

  // Appends the gradients, and the pullback or None.
  static void evaluate(std::span<const Value> inputs, const jit::Node* node,
                       std::vector<Value>& outputs) {
    const CountedPtr<const Pullback> known = pullback_of(inputs);
    const Pullback& pullback = *known;
    const std::size_t count = inputs.size() - 1;
    OPYARD_CHECK(count == pullback.outputs().size(), BadArgument,
                 fmt::format("prim::Eval was given {} gradients, for a call with {} outputs", count,
                             pullback.outputs().size()));
    PullbackBuilder builder(node != nullptr && makes_pullback(*node));
    std::optional<Flags> flags;
    if (node != nullptr) flags.emplace(*node);
    std::vector<Root> roots;
    for (std::size_t i = 0; i < count; ++i) {
      const Value given = builder.add_input(inputs[i], flags && flags->next(*node->inputs()[i]));
      const Edge& edge = pullback.outputs()[i];
      if (!given.is_tensor() || !given.tensor_unchecked().defined() || !edge) continue;
      check_gradient(given.tensor_unchecked(), edge, i);
      roots.push_back({edge, given.to_tensor()});
    }
    Run run;
    run.keep_graph = true;
    run.create_graph = true;
    for (const Pullback* one = &pullback; one != nullptr; one = one->below().get()) {
      for (std::uint32_t i = 0; i < one->inputs()->input_count(); ++i) {
        run.inputs.push_back({one->inputs(), i});
      }
    }
    Gradients gradients;
    {
      const CallMode mode(true);
      gradients = execute(std::move(roots), run);
    }
    const bool gives_zeros = node != nullptr && node->has_attribute(zeros_name());
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].defined() && gives_zeros) {
        gradients[i] = calls::zeros(run.inputs[i].function->input(run.inputs[i].input));
      }
      outputs.push_back(builder.add_output(Value(gradients[i])));
    }
    const bool through = node != nullptr && node->has_attribute(through_name());
    outputs.push_back(builder.take(through ? known : CountedPtr<const Pullback>()));
  }
};

// The node and its operation. Raises BadValue.
const jit::Operation& require_operation(const jit::Node& node) {
  const jit::Operation* const operation = jit::operation_of(node);
  OPYARD_CHECK(
      operation != nullptr, BadValue,
      fmt::format("a pullback is of a node that has a function of its own, as a PythonOp, a "
                  "CppOp or a prim::Eval; {} has none: its operator has a derivative",
                  node.kind().qual_string()));
  OPYARD_CHECK(
      !gives_pullback(node), BadValue,
      fmt::format("{} gives a pullback already, as its last output", node.kind().qual_string()));
  return *operation;
}

// The values that an Eval of this node's pullback gives gradients for.
std::vector<jit::Value*> reached_by(const jit::Node& node) {
  std::vector<jit::Value*> reached;
  for (const jit::Node* one = &node; one != nullptr;) {
    Flags flags(*one);
    for (jit::Value* const input : one->inputs()) {
      if (flags.next(*input)) reached.push_back(input);
    }
    one = one->has_attribute(through_name()) ? one->inputs().back()->node() : nullptr;
  }
  return reached;
}

// What passes::differentiate() asks for.
jit::Value* add_pullback_of_stage(jit::Node& node, const std::vector<bool>& requires_gradient) {
  if (node.kind() == jit::prim::Eval) node.i_(through_name(), 1);
  return add_pullback(node, requires_gradient);
}
jit::Node* create_eval_of_stage(jit::Graph& graph, std::span<jit::Value* const> gradients,
                                jit::Value* pullback) {
  jit::Node* const eval = create_eval(graph, gradients, pullback);
  eval->i_(zeros_name(), 1);
  return eval;
}

std::size_t count_tensors(const jit::Node& node) {
  return std::size_t(std::ranges::count_if(
      node.inputs(), [](const jit::Value* input) { return takes_tensor(*input); }));
}

}  // namespace

PullbackBuilder::PullbackBuilder(bool makes_pullback)
    : dummy_(makes_pullback ? make_dummy() : FunctionPtr()) {
  if (makes_pullback) arm();
}

Value PullbackBuilder::add_input(const Value& input, bool requires_gradient) {
  if (!input.is_tensor()) return input;
  const Tensor& tensor = input.tensor_unchecked();
  const bool takes_number = dummy_ && requires_gradient;
  if (!tensor.defined()) {
    if (takes_number) dummy_->add_input();
    return input;
  }
  if (takes_number && (is_floating_point(tensor.dtype()) || is_complex(tensor.dtype()))) {
    OPYARD_CHECK(!tensor.impl()->has_mark(TensorImpl::kInference), BadValue,
                 "an inference tensor cannot require a gradient, and a function of this graph "
                 "gives a pullback; it was made under inference_mode: clone() it first");
    const Tensor fresh = detached(tensor);
    set_history(fresh, {dummy_, dummy_->add_input(tensor)});
    return Value(fresh);
  }
  if (takes_number) dummy_->add_input(tensor);
  return Value(autograd::requires_gradient(tensor) ? detached(tensor) : tensor);
}

Value PullbackBuilder::add_output(const Value& output) {
  const bool is_tensor = output.is_tensor() && output.tensor_unchecked().defined();
  if (dummy_) outputs_.push_back(is_tensor ? history_of(output.tensor_unchecked()) : Edge());
  if (!is_tensor || !requires_gradient(output.tensor_unchecked())) return output;
  return Value(detached(output.tensor_unchecked()));
}

Value PullbackBuilder::take(CountedPtr<const Pullback> below) {
  if (!dummy_) return {};
  return Value(make_counted<Pullback>(dummy_, std::move(outputs_), std::move(below)));
}

// Each step may be done twice, by two threads. With std::call_once the child of a fork would wait
// for ever for a thread that was inside.
void join_graphs() {
  static constinit std::atomic<bool> joined{false};
  if (joined.load(std::memory_order_acquire)) return;
  register_class<Pullback>(jit::kPullbackClass);
  jit::set_operation(jit::prim::Eval, make_counted<Eval>());
  static constexpr jit::PullbackNodes functions = {&add_pullback_of_stage, &reached_by,
                                                   &create_eval_of_stage};
  jit::set_pullback_nodes(functions);
  joined.store(true, std::memory_order_release);
}

jit::Value* add_pullback(jit::Node& node, std::optional<std::vector<bool>> requires_gradient) {
  join_graphs();
  const jit::Operation& operation = require_operation(node);
  if (requires_gradient) {
    OPYARD_CHECK(
        requires_gradient->size() == count_tensors(node), BadValue,
        fmt::format("add_pullback: {} says of {} tensors whether they require a gradient, "
                    "and takes {}",
                    node.kind().qual_string(), requires_gradient->size(), count_tensors(node)));
    node.is_(flags_name(),
             std::vector<std::int64_t>(requires_gradient->begin(), requires_gradient->end()));
  }
  if (dynamic_cast<const Eval*>(&operation) == nullptr) {
    node.set_payload(
        make_counted<WithPullback>(CountedPtr<const jit::Operation>::share(&operation)));
  }
  return node.add_output(jit::pullback_type());
}

jit::Node* create_eval(jit::Graph& graph, std::span<jit::Value* const> gradients,
                       jit::Value* pullback) {
  join_graphs();
  OPYARD_CHECK(pullback != nullptr && pullback->is_pullback(), BadValue,
               "create_eval: a pullback is wanted, as add_pullback() gives it");
  const jit::Node& call = *pullback->node();
  OPYARD_CHECK(gives_pullback(call) && call.outputs().back() == pullback, BadValue,
               "create_eval: the pullback is not one that add_pullback() gave");
  OPYARD_CHECK(gradients.size() + 1 == call.outputs().size(), BadValue,
               fmt::format("create_eval: {} gradients were given for a call with {} outputs",
                           gradients.size(), call.outputs().size() - 1));
  std::vector<jit::Value*> inputs(gradients.begin(), gradients.end());
  inputs.push_back(pullback);
  return graph.create(jit::prim::Eval, inputs, reached_by(call).size());
}

}  // namespace opyard::autograd
