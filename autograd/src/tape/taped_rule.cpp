// autograd/tape/taped_rule.cpp: running formulas and backwards of users for their tangents.
#include "tape/taped_rule.h"

#include <fmt/format.h>

#include "functions/calls.h"
#include "opyard/autograd.h"

namespace opyard::autograd {
namespace {

// Where edges lead of arguments whose gradient is wanted: a backward may ask should_compute().
class WantedHere final : public Function {
 public:
  Gradients apply(Gradients) override { return {}; }
  std::string name() const override { return "WantedHere"; }
};

class TapedRule {
 public:
  explicit TapedRule(const CallValues& call) : call_(call) {
    for (const Value& result : call.results) seeds_.push_back(zeros_like(result));
  }

  // Of what a backward gave for these arguments.
  std::vector<Value> differentiate(const std::vector<std::size_t>& of,
                                   const std::vector<Value>& gradients, bool creates_graph) {
    std::vector<Tensor> roots, directions;
    for (std::size_t i = 0; i < of.size(); ++i) {
      pair(gradients[i], call_.tangents[of[i]], roots, directions);
    }
    Gradients found(leaves_.size());
    if (!roots.empty() && !leaves_.empty()) {
      BackwardOptions options;
      options.create_graph = creates_graph;
      options.allow_unused = true;
      found = autograd::grad(roots, leaves_, directions, options);
    }
    std::vector<Value> tangents;
    std::size_t next = 0;
    for (Several& all : seeds_) {
      for (Tensor& one : all.tensors) {
        if (one.defined()) one = found[next++];
      }
      tangents.push_back(all.value());
    }
    return tangents;
  }

  // What a formula gives for gradients of zeros.
  std::vector<Value> run(const ForwardFormula& formula) const {
    using Kind = ForwardCode::Input::Kind;
    std::vector<Value> inputs;
    bool reads_complex = false;
    for (const ForwardCode::Input& input : formula.code.inputs) {
      if (input.kind == Kind::Gradient) {
        inputs.push_back(seeds_[input.index].value());
        continue;
      }
      inputs.push_back(input.kind == Kind::Argument ? call_.arguments[input.index]
                                                    : call_.results[input.index]);
      reads_complex = reads_complex || (input.reads_elements && holds_complex(inputs.back()));
    }
    if (reads_complex && !formula.knows_complex) {
      fail(ErrorKind::Unsupported,
           fmt::format("{}: the formula \"{}\" reads complex numbers, and does not say how: write "
                       "conj() around the factors that are conjugated",
                       to_string(call_.rules.op->name()), formula.text));
    }
    return formula.code.code->run(inputs);
  }

  // The same of a user's backward, for arguments in order.
  std::vector<Value> run_custom(const std::vector<std::size_t>& of) const {
    const std::vector<Value> results(call_.results.begin(), call_.results.end());
    std::vector<bool> wanted(call_.arguments.size(), false);
    for (const std::size_t argument : of) wanted[argument] = call_.tangents[argument].any();
    const FunctionPtr function =
        call_.rules.plan->custom->make(*call_.rules.op, call_.arguments, results, wanted);
    if (!function) return std::vector<Value>(of.size());
    add_ends(*function, of, wanted);
    Gradients given;
    for (const Several& all : seeds_) {
      for (const Tensor& one : all.tensors) given.push_back(one);
    }
    const Gradients made = function->apply(std::move(given));
    std::vector<Value> gradients;
    std::size_t next = 0;
    for (const std::size_t argument : of) {
      Several one = call_.tangents[argument];
      for (Tensor& tensor : one.tensors) {
        tensor = next < made.size() ? made[next] : Tensor();
        ++next;
      }
      gradients.push_back(one.value());
    }
    return gradients;
  }

 private:
  Several zeros_like(const Value& result) {
    Several all = tensors_in(result);
    for (Tensor& one : all.tensors) {
      if (!one.defined()) continue;
      if (!is_differentiable(one)) {
        one = Tensor();
        continue;
      }
      one = calls::zeros(Expected(one));
      require_gradient(one);
      leaves_.push_back(one);
    }
    return all;
  }

  // What a backward gave for an argument, with the argument's tangent.
  static void pair(const Value& gradient, const Several& tangents, std::vector<Tensor>& roots,
                   std::vector<Tensor>& directions) {
    const Several given = tensors_in(gradient);
    for (std::size_t i = 0; i < given.tensors.size() && i < tangents.tensors.size(); ++i) {
      const Tensor& one = given.tensors[i];
      Tensor tangent = tangents.tensors[i];
      if (!one.defined() || !tangent.defined() || !requires_gradient(one)) continue;
      // As the engine sums a gradient to its tensor, and converts it.
      if (!std::ranges::equal(one.sizes(), tangent.sizes())) {
        tangent = calls::expand(tangent, one.sizes());
      }
      if (one.dtype() != tangent.dtype()) tangent = calls::to_dtype(tangent, one.dtype());
      roots.push_back(one);
      directions.push_back(std::move(tangent));
    }
  }

  void add_ends(Function& function, const std::vector<std::size_t>& of,
                const std::vector<bool>& wanted) const {
    for (const std::size_t argument : of) {
      for (std::size_t i = 0; i < call_.tangents[argument].tensors.size(); ++i) {
        if (wanted[argument]) {
          function.add_edge(make_counted<WantedHere>(), 0);
        } else {
          function.add_edge();
        }
      }
    }
    for (const Value& result : call_.results) {
      for (const Tensor& one : tensors_in(result).tensors) {
        if (one.defined()) {
          function.add_input(one);
        } else {
          function.add_input();
        }
      }
    }
  }

  const CallValues& call_;
  std::vector<Several> seeds_;  // by result: zeros for its gradient
  std::vector<Tensor> leaves_;  // the same, one after the other
};

}  // namespace

std::vector<Value> taped_tangents(const CallValues& call, const ForwardFormula& formula) {
  const bool creates_graph = gradients_enabled();
  const GradientModeGuard on(GradientMode::Gradients);
  TapedRule rule(call);
  return rule.differentiate(formula.arguments, rule.run(formula), creates_graph);
}

std::vector<Value> taped_tangents_of_custom(const CallValues& call) {
  const bool creates_graph = gradients_enabled();
  const GradientModeGuard on(GradientMode::Gradients);
  std::vector<std::size_t> of;
  for (const ForwardArgument& one : call.rules.arguments) of.push_back(one.argument);
  TapedRule rule(call);
  return rule.differentiate(of, rule.run_custom(of), creates_graph);
}

}  // namespace opyard::autograd
