// autograd/functions/derivative.cpp: compiling formulas, and the values that they need.
#include "opyard/autograd/derivative.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <map>

#include "functions/calls.h"
#include "functions/names.h"
#include "opyard/detail/registry/formula_check.h"
#include "opyard/jit/constant.h"
#include "opyard/jit/formula.h"
#include "opyard/jit/resolve.h"
#include "opyard/jit/symbol.h"
#include "opyard/registry/registry.h"

namespace opyard::autograd {

static bool is_list_type(const Type& type) {
  return type.kind() == TypeKind::List ||
         (type.kind() == TypeKind::Optional && is_list_type(type.element()));
}

static Source source_of(const jit::FormulaNames::Meaning& meaning) {
  using Kind = jit::FormulaNames::Kind;
  const Source::Kind kind = meaning.kind == Kind::Gradient   ? Source::Kind::Gradient
                            : meaning.kind == Kind::Argument ? Source::Kind::Argument
                                                             : Source::Kind::Result;
  return {kind, meaning.index};
}

namespace {

bool is_tensor_type(const Type& type) {
  return type.kind() == TypeKind::Tensor ||
         (type.kind() == TypeKind::Optional && is_tensor_type(type.element()));
}

// Turns what a graph asks of arguments into inputs of it. See [Liveness] in the header.
class Rewriter {
 public:
  Rewriter(jit::Graph& graph, const jit::FormulaNames& names) : graph_(graph) {
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
      sources_[graph.inputs()[i]] = autograd::source_of(names.meanings[i]);
    }
  }

  void run() {
    std::vector<jit::Node*> nodes;
    for (jit::Node* const node : graph_.nodes()) nodes.push_back(node);
    for (jit::Node* const node : nodes) {
      if (jit::is_question(*node)) hoist(node);
    }
    for (jit::Node* const node : nodes) {
      if (!node->is_destroyed() && node->kind().qual_string() == "opyard::sum_to") save_sizes(node);
    }
    for (std::size_t i = nodes.size(); i-- > 0;) {
      jit::Node* const node = nodes[i];
      if (!node->is_destroyed() && !node->has_uses() && node->kind() == jit::prim::Constant) {
        node->destroy();
      }
    }
    for (std::size_t i = graph_.inputs().size(); i-- > 0;) {
      if (!graph_.inputs()[i]->has_uses()) graph_.erase_input(i);
    }
  }
  std::vector<Source> inputs() const {
    std::vector<Source> all;
    for (const jit::Value* const input : graph_.inputs()) all.push_back(sources_.at(input));
    return all;
  }

 private:
  const Source* source_of(const jit::Value* value) const {
    const auto found = sources_.find(value);
    return found == sources_.end() ? nullptr : &found->second;
  }

  void hoist(jit::Node* node) {
    Source answer{Source::Kind::Answer};
    const jit::Callee callee = jit::resolve(*node);
    if (callee.op == nullptr || node->outputs().size() != 1) return;
    answer.question = callee.op;
    for (const jit::Value* const input : node->inputs()) {
      const Source* const source = source_of(input);
      if (source != nullptr && source->kind == Source::Kind::Argument) {
        answer.asks.emplace_back(int(source->index), Value());
      } else if (source != nullptr && source->kind == Source::Kind::Result) {
        answer.asks.emplace_back(-2 - int(source->index), Value());
      } else if (input->node()->kind() == jit::prim::Constant) {
        answer.asks.emplace_back(-1, jit::constant_value(*input->node()));
      } else {
        return;
      }
    }
    jit::Value* const input = graph_.add_input({}, node->output()->type());
    sources_[input] = std::move(answer);
    node->output()->replace_all_uses_with(input);
    node->destroy();
  }

  // sum_to(gradient, self) looks at self's sizes alone.
  void save_sizes(jit::Node* node) {
    if (node->inputs().size() != 2 || !is_tensor_type(*node->inputs()[1]->type())) return;
    const Source* const source = source_of(node->inputs()[1]);
    if (source == nullptr || source->kind != Source::Kind::Argument) return;
    const Source sizes{Source::Kind::OtherSizes, source->index};
    jit::Value* input = nullptr;
    for (const auto& [value, known] : sources_) {
      if (known == sizes) input = const_cast<jit::Value*>(value);
    }
    if (input == nullptr) {
      input = graph_.add_input({}, optional_of(list_of(base_type(TypeKind::Int))));
      sources_[input] = sizes;
    }
    node->replace_input(1, input);
    node->set_overload(jit::Symbol::attr("sizes"));
  }

  jit::Graph& graph_;
  std::map<const jit::Value*, Source> sources_;
};

}  // namespace

bool Source::asks_results() const noexcept {
  return std::any_of(asks.begin(), asks.end(), [](const auto& one) { return one.first < -1; });
}

bool Source::operator==(const Source& other) const {
  if (kind != other.kind || index != other.index || question != other.question ||
      asks.size() != other.asks.size()) {
    return false;
  }
  for (std::size_t i = 0; i < asks.size(); ++i) {
    if (asks[i].first != other.asks[i].first || !(asks[i].second == other.asks[i].second)) {
      return false;
    }
  }
  return true;
}

namespace {

// A name that is unknown may be one of the operators that are not there yet.
jit::ParsedFormula parse(const Operator& op, const Formula& formula,
                         const jit::FormulaNames& names) {
  try {
    return jit::parse_formula(op, formula, names);
  } catch (const Error& error) {
    if (calls::are_there()) throw;
    throw error.with_context(
        "the operators of aten are in the plugin opyard_kernels, which is not loaded: load it, as "
        "the first use of opyard.ops.aten does, or load_library() in C++");
  }
}

}  // namespace

namespace {

std::string name_of(const Source& source, const Schema& schema) {
  switch (source.kind) {
    case Source::Kind::Argument:
      return schema.arguments[source.index].name;
    case Source::Kind::Result:
      return schema.results.size() == 1 ? "result" : "result" + std::to_string(source.index);
    case Source::Kind::OtherSizes:
      return schema.arguments[source.index].name + "_sizes";
    case Source::Kind::Gradient:
    case Source::Kind::Answer:
      break;
  }
  return {};
}

}  // namespace

FormulaSet::FormulaSet(const Operator& op, const Derivative& derivative)
    : code_of(op.schema().arguments.size(), kNoFormula), name(backward_name(op)) {
  const Schema& schema = op.schema();
  const jit::FormulaNames names = jit::formula_names(schema);
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
    if (carries_keys(*schema.arguments[i].type)) {
      tensors.push_back({i, is_list_type(*schema.arguments[i].type)});
    }
  }
  for (const Formula& formula : derivative.formulas) {
    if (!jit::tangent_line(formula).empty()) continue;  // see forward/rules.h
    jit::ParsedFormula parsed = parse(op, formula, names);
    if (!parsed.graph) {
      for (const std::size_t argument : parsed.arguments) code_of[argument] = kNoGradient;
      continue;
    }
    add(op, formula, std::move(parsed), names);
  }
  if (codes.size() > 64) {
    fail(ErrorKind::BadGraph, fmt::format("{} has {} formulas, and at most 64 are taken",
                                          to_string(op.name()), codes.size()));
  }
  for (const Source& source : sources) source_names.push_back(name_of(source, schema));
  used_by.resize(sources.size(), 0);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    for (const std::size_t input : codes[i].inputs) used_by[input] |= std::uint64_t{1} << i;
  }
  result_is_list = schema.results.size() == 1 && is_list_type(*schema.results[0].type);
}

void FormulaSet::add(const Operator& op, const Formula& formula, jit::ParsedFormula parsed,
                     const jit::FormulaNames& names) {
  FormulaCode code{formula.text, {}, {}, std::move(parsed.arguments)};
  for (const std::size_t argument : code.outputs) {
    const auto found = std::find_if(tensors.begin(), tensors.end(),
                                    [&](const auto& one) { return one.argument == argument; });
    code.positions.push_back(std::size_t(found - tensors.begin()));
  }
  try {
    Rewriter rewriter(*parsed.graph, names);
    rewriter.run();
    for (Source& source : rewriter.inputs()) {
      auto known = std::find(sources.begin(), sources.end(), source);
      if (known == sources.end()) known = sources.insert(known, std::move(source));
      code.inputs.push_back(std::size_t(known - sources.begin()));
    }
    code.knows_complex = jit::knows_complex(*parsed.graph);
    jit::GraphPtr with_conj = parsed.graph->copy();
    if (jit::drop_conjugations(*parsed.graph))
      code.complex_code = jit::compile(std::move(with_conj));
    code.code = jit::compile(std::move(parsed.graph));
  } catch (const Error& error) {
    throw error.with_context(fmt::format("in the derivative of {} for {}: {}", to_string(op.name()),
                                         formula.of, formula.text));
  }
  for (const std::size_t argument : code.outputs) code_of[argument] = int(codes.size());
  codes.push_back(std::move(code));
}

std::string backward_name(const Operator& op) {
  std::string name;
  bool upper = true;
  for (const char letter : op.name().base_name()) {
    if (letter == '_') {
      upper = true;
      continue;
    }
    name += upper ? char(std::toupper(static_cast<unsigned char>(letter))) : letter;
    upper = false;
  }
  return name + "Backward";
}

static void check_all(const Operator& op, const Derivative& derivative) {
  static_cast<void>(make_counted<FormulaSet>(op, derivative));
  for (const Formula& line : derivative.formulas) {
    if (!jit::tangent_line(line).empty()) static_cast<void>(jit::parse_tangent(op, line));
  }
}

void check_formulas(const Operator& op) {
  const CountedPtr<const Derivative> derivative = find_derivative(op);
  if (!derivative) {
    fail(ErrorKind::NotFound,
         fmt::format("{} has no derivative; give it one with derivative(\"{}\", ...)",
                     to_string(op.name()), op.name().base_name()));
  }
  if (!derivative->function) check_all(op, *derivative);
}

namespace {

void check_registered(const Operator& op, const Derivative& derivative) {
  if (derivative.function || !calls::are_there()) return;
  try {
    check_all(op, derivative);
  } catch (const Error& error) {
    throw error.with_context(
        "formulas are read where they are registered, in debug builds and with "
        "OPYARD_CHECK_FORMULAS=1: define what a formula calls before it");
  }
}

bool checks_from_the_start() noexcept {
#ifdef NDEBUG
  const char* const asked = std::getenv("OPYARD_CHECK_FORMULAS");
  return asked != nullptr && std::string_view(asked) != "" && std::string_view(asked) != "0";
#else
  return true;
#endif
}
[[maybe_unused]] const bool checked_before =
    check_formulas_at_registration(checks_from_the_start());

}  // namespace

bool check_formulas_at_registration(bool checks) noexcept {
  return detail::formula_check.exchange(checks ? &check_registered : nullptr,
                                        std::memory_order_acq_rel) != nullptr;
}

}  // namespace opyard::autograd
