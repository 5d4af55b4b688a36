// autograd/forward/rules.cpp: search for the tangent rule of an operator.
#include "forward/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "forward/transpose.h"
#include "functions/locks.h"
#include "functions/names.h"
#include "opyard/autograd/forward.h"
#include "opyard/inspect/inspect.h"
#include "opyard/jit/constant.h"
#include "opyard/jit/resolve.h"
#include "opyard/jit/symbol.h"

namespace opyard::autograd {
namespace {

using RuleInput = ForwardCode::Input::Kind;
using MeaningKind = jit::FormulaNames::Kind;

// Operators that work element by element in their first argument, and in others if they have some,
// besides those with the tag. In order.
constexpr std::string_view kElementwise[] = {
    // clang-format off
    "aten::abs", "aten::acos", "aten::acosh", "aten::add", "aten::asin", "aten::asinh",
    "aten::atan", "aten::atan2", "aten::atanh", "aten::ceil", "aten::clamp", "aten::clamp_max",
    "aten::clamp_min", "aten::conj", "aten::conj_physical", "aten::copysign", "aten::cos",
    "aten::cosh", "aten::deg2rad", "aten::detach", "aten::digamma", "aten::div", "aten::eq",
    "aten::erf", "aten::erfc", "aten::erfinv", "aten::exp", "aten::exp2", "aten::expm1",
    "aten::floor", "aten::floor_divide", "aten::fmax", "aten::fmin", "aten::fmod", "aten::frac",
    "aten::ge", "aten::gt", "aten::hypot", "aten::isinf", "aten::isnan", "aten::ldexp", "aten::le",
    "aten::lerp", "aten::lgamma", "aten::log", "aten::log10", "aten::log1p", "aten::log2",
    "aten::logaddexp", "aten::logaddexp2", "aten::logical_and", "aten::logical_not",
    "aten::logical_or", "aten::logical_xor", "aten::logit", "aten::lt", "aten::masked_fill",
    "aten::maximum", "aten::minimum", "aten::mul", "aten::nan_to_num", "aten::ne", "aten::neg",
    "aten::pow", "aten::rad2deg", "aten::reciprocal", "aten::relu", "aten::remainder",
    "aten::round", "aten::rsqrt", "aten::rsub", "aten::sgn", "aten::sigmoid", "aten::sign",
    "aten::sin", "aten::sinc", "aten::sinh", "aten::special_entr", "aten::special_erfcx",
    "aten::special_i0", "aten::special_i0e", "aten::special_i1", "aten::special_i1e",
    "aten::special_log_ndtr", "aten::special_ndtr", "aten::special_ndtri", "aten::special_xlog1py",
    "aten::sqrt", "aten::square", "aten::sub", "aten::tan", "aten::tanh", "aten::trunc",
    "aten::where", "aten::xlogy", "opyard::clamp_backward", "opyard::i0_backward",
    "opyard::i0e_backward", "opyard::i1_backward", "opyard::i1e_backward",
    "opyard::log_ndtr_backward", "opyard::polygamma_backward", "opyard::pow_backward",
    "opyard::pow_base_backward", "opyard::pow_exponent_backward", "opyard::pow_scalar_backward",
    "opyard::unless_over_0", "opyard::unless_rounded", "opyard::xlogy_by_number_backward",
    // clang-format on
};
static_assert(std::ranges::is_sorted(kElementwise));

bool carries_tag(const Operator& op, std::string_view tag) {
  const std::vector<std::string> tags = inspect::tags(op.name());
  return std::ranges::find(tags, tag) != tags.end();
}
bool is_pointwise(const Operator& op) {
  if (std::ranges::binary_search(kElementwise, op.name().name)) return true;
  if (carries_tag(op, "pointwise")) return true;
  const Operator* const functional = functional_form(op);
  return functional != nullptr && is_pointwise(*functional);
}

// Whether a node of a formula works element by element, with numbers alone beside its first
// argument or with tensors as well.
enum class Works { ByElements, ByElementsAndNumbers, Otherwise };
Works works(const jit::Node& node) {
  if (!node.blocks().empty() || node.outputs().size() != 1) return Works::Otherwise;
  const jit::Callee callee = jit::resolve(node);
  if (callee.op == nullptr) return Works::Otherwise;
  if (!is_pointwise(*callee.op)) return Works::Otherwise;
  std::size_t tensors = 0;
  for (const jit::Value* const input : node.inputs()) {
    tensors += carries_keys(*input->type()) ? 1 : 0;
  }
  return tensors > 1 ? Works::ByElementsAndNumbers : Works::ByElements;
}

ForwardCode compiled(jit::GraphPtr graph, std::vector<ForwardCode::Input> inputs) {
  ForwardCode made;
  for (std::size_t i = graph->inputs().size(); i-- > 0;) {
    if (graph->inputs()[i]->has_uses()) {
      inputs[i].reads_elements = jit::reads_elements(*graph->inputs()[i]);
      continue;
    }
    graph->erase_input(i);
    inputs.erase(inputs.begin() + std::ptrdiff_t(i));
  }
  made.inputs = std::move(inputs);
  made.code = jit::compile(std::move(graph));
  return made;
}

std::vector<ForwardCode::Input> inputs_of(const jit::FormulaNames& names) {
  std::vector<ForwardCode::Input> inputs;
  for (const jit::FormulaNames::Meaning& meaning : names.meanings) {
    const RuleInput kind = meaning.kind == MeaningKind::Gradient   ? RuleInput::Gradient
                           : meaning.kind == MeaningKind::Argument ? RuleInput::Argument
                                                                   : RuleInput::Result;
    inputs.push_back({kind, meaning.index});
  }
  return inputs;
}

// The formula with the argument's tangent for the gradient, without the sum over what was
// broadcast; null if it does not work element by element.
jit::GraphPtr elementwise(const Operator& op, const jit::Graph& formula,
                          const jit::FormulaNames& names) {
  if (formula.outputs().size() != 1 || op.schema().results.size() != 1) return {};
  jit::GraphPtr graph = formula.copy();
  jit::Value* output = graph->outputs()[0];
  if (output->node()->kind().qual_string() == "opyard::sum_to") {
    output = output->node()->input(0);
    graph->replace_output(0, output);
  }
  std::unordered_set<const jit::Value*> comes_of_gradient;
  for (std::size_t i = 0; i < names.meanings.size(); ++i) {
    if (names.meanings[i].kind == MeaningKind::Gradient) {
      comes_of_gradient.insert(graph->inputs()[i]);
    }
  }
  const bool of_elements = is_pointwise(op);
  for (const jit::Node* const node : graph->nodes()) {
    if (node->kind() == jit::prim::Constant) continue;
    const bool is_of = std::ranges::any_of(
        node->inputs(), [&](const jit::Value* input) { return comes_of_gradient.contains(input); });
    if (!is_of) continue;
    if (node->kind().qual_string() == "opyard::sum_to" && node->output()->uses().empty() &&
        node->output() != output) {
      continue;  // the one that was left out
    }
    const Works how = works(*node);
    if (how == Works::Otherwise) return {};
    if (how == Works::ByElementsAndNumbers && !of_elements) return {};
    for (const jit::Value* const one : node->outputs()) comes_of_gradient.insert(one);
  }
  return comes_of_gradient.contains(output) ? graph : jit::GraphPtr();
}

class RuleMaker {
 public:
  explicit RuleMaker(ForwardRules& rules)
      : rules_(rules), op_(*rules.op), names_(jit::formula_names(op_.schema())) {}

  void run() {
    const CountedPtr<Plan>& plan = rules_.plan;
    if (rules_.derivative && !rules_.derivative->function) {
      for (const Formula& formula : rules_.derivative->formulas) read(formula);
    }
    for (const auto& [argument, is_list] : plan->tensors) {
      ForwardArgument& one = rules_.arguments.emplace_back();
      one.argument = argument;
      one.is_list = is_list;
      decide(one);
    }
  }

 private:
  struct Line {
    std::size_t argument;
    ForwardCode code;
  };

  void read(const Formula& formula) {
    if (!jit::tangent_line(formula).empty()) return read_line(formula);
    jit::ParsedFormula parsed = jit::parse_formula(op_, formula, names_);
    if (!parsed.graph) {
      no_tangent_.insert(no_tangent_.end(), parsed.arguments.begin(), parsed.arguments.end());
      return;
    }
    ForwardFormula made;
    made.text = formula.text;
    made.arguments = std::move(parsed.arguments);
    made.knows_complex = jit::knows_complex(*parsed.graph);
    if (made.arguments.size() == 1) {
      jit::GraphPtr real = parsed.graph->copy();
      jit::drop_conjugations(*real);
      if (jit::GraphPtr graph = elementwise(op_, *real, names_)) {
        made.elementwise = compiled(std::move(graph), inputs_of(names_));
        for (ForwardCode::Input& input : made.elementwise.inputs) {
          if (input.kind == RuleInput::Gradient) input.kind = RuleInput::Tangent;
        }
      } else if (Transposed transposed = transpose(*real, names_);
                 transposed.graph && gives_all_results(transposed)) {
        std::vector<ForwardCode::Input> inputs = inputs_of(names_);
        inputs.push_back({RuleInput::Tangent});
        made.written = compiled(std::move(transposed.graph), std::move(inputs));
      }
    }
    made.code = compiled(std::move(parsed.graph), inputs_of(names_));
    rules_.formulas.push_back(std::move(made));
  }
  // Others have to be told apart by number; the tape does that.
  bool gives_all_results(const Transposed& transposed) const {
    return op_.schema().results.size() == 1 && transposed.results.size() == 1;
  }

  void read_line(const Formula& formula) {
    jit::ParsedTangent parsed = jit::parse_tangent(op_, formula);
    std::vector<ForwardCode::Input> inputs;
    for (const jit::TangentMeaning& meaning : parsed.meanings) {
      const RuleInput kind = meaning.kind == jit::TangentMeaning::Kind::Tangent ? RuleInput::Tangent
                             : meaning.kind == jit::TangentMeaning::Kind::Argument
                                 ? RuleInput::Argument
                                 : RuleInput::Result;
      inputs.push_back({kind, meaning.index});
    }
    lines_.push_back({parsed.argument, compiled(std::move(parsed.graph), std::move(inputs))});
  }

  void decide(ForwardArgument& one) {
    using Kind = ForwardArgument::Kind;
    const auto line = std::ranges::find(lines_, one.argument, &Line::argument);
    if (line != lines_.end()) {
      one.kind = Kind::Line;
      one.line = std::move(line->code);
      return;
    }
    if (std::ranges::find(rules_.plan->view_of, int(one.argument)) != rules_.plan->view_of.end() ||
        (rules_.plan->is_restriding && one.argument == rules_.plan->written.front())) {
      one.kind = Kind::SameCall;
      return;
    }
    if (rules_.plan->custom) {
      one.kind = Kind::Custom;
      return;
    }
    if (std::ranges::find(no_tangent_, one.argument) != no_tangent_.end()) {
      one.kind = Kind::NoTangent;
      return;
    }
    for (std::size_t i = 0; i < rules_.formulas.size(); ++i) {
      if (std::ranges::find(rules_.formulas[i].arguments, one.argument) ==
          rules_.formulas[i].arguments.end()) {
        continue;
      }
      one.kind = Kind::Formula;
      one.formula = i;
    }
  }

  ForwardRules& rules_;
  const Operator& op_;
  const jit::FormulaNames names_;
  std::vector<Line> lines_;
  std::vector<std::size_t> no_tangent_;
};

// Whether calls at the Autograd keys run a kernel that is made of other calls.
bool runs_others(const Operator& op) {
  return inspect::resolve(op, DispatchKey::AutogradCPU).record->role == RecordRole::Kernel;
}

std::unique_ptr<ForwardRules> make_rules(const Operator& op,
                                         CountedPtr<const Derivative> derivative) {
  auto rules = std::make_unique<ForwardRules>();
  rules->op = &op;
  rules->derivative = std::move(derivative);
  rules->plan = make_plan(op, rules->derivative);
  rules->is_composite = !rules->derivative && runs_others(op);
  if (!rules->is_composite) RuleMaker(*rules).run();
  return rules;
}

// Rules are never freed, since calls may be using them; they are made anew only if the derivative
// is another one.
struct Known {
  std::uint64_t changes;
  std::unique_ptr<const ForwardRules> rules;
  std::vector<std::unique_ptr<const ForwardRules>> former;
};
std::map<const Operator*, Known>& known_rules() {
  static auto* const known = new std::map<const Operator*, Known>();
  return *known;
}

}  // namespace

bool ForwardCode::reads_argument(std::size_t argument) const noexcept {
  return std::ranges::any_of(inputs, [&](const Input& input) {
    return input.kind == RuleInput::Argument && input.index == argument;
  });
}

const ForwardRules& forward_rules(const Operator& op) {
  const std::uint64_t changes = inspect::derivatives_changed();
  {
    const std::lock_guard lock(gradients_lock());
    const auto found = known_rules().find(&op);
    if (found != known_rules().end() && found->second.changes == changes) {
      return *found->second.rules;
    }
  }
  CountedPtr<const Derivative> derivative = find_derivative(op);
  {
    const std::lock_guard lock(gradients_lock());
    const auto found = known_rules().find(&op);
    if (found != known_rules().end() && found->second.rules->derivative == derivative) {
      found->second.changes = changes;
      return *found->second.rules;
    }
  }
  std::unique_ptr<const ForwardRules> fresh = make_rules(op, std::move(derivative));
  const std::lock_guard lock(gradients_lock());
  Known& known = known_rules()[&op];
  if (known.rules) known.former.push_back(std::move(known.rules));
  known.rules = std::move(fresh);
  known.changes = changes;
  return *known.rules;
}

std::string describe_forward_rules(const Operator& op) {
  const ForwardRules& rules = forward_rules(op);
  if (rules.is_composite) return "by the calls inside";
  std::string text;
  for (const ForwardArgument& one : rules.arguments) {
    using Kind = ForwardArgument::Kind;
    const char* how = "none";
    switch (one.kind) {
      case Kind::NoTangent:
        how = "no tangent flows";
        break;
      case Kind::Missing:
        break;
      case Kind::Line:
        how = "tangent line";
        break;
      case Kind::SameCall:
        how = "same call";
        break;
      case Kind::Custom:
        how = "taped";
        break;
      case Kind::Formula: {
        const ForwardFormula& formula = rules.formulas[one.formula];
        how = formula.elementwise ? "elementwise" : formula.written ? "written" : "taped";
        break;
      }
    }
    if (!text.empty()) text += ", ";
    text += op.schema().arguments[one.argument].name + ": " + how;
  }
  return text;
}

}  // namespace opyard::autograd
