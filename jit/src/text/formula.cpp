// text/formula.cpp: formula parser, and the names that formulas use.
#include "opyard/jit/formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace opyard::jit {
namespace {

std::string where(const Operator& op, const Formula& formula) {
  return fmt::format("the derivative of {} for {}", to_string(op.name()), formula.of);
}

std::vector<std::string> names_in(const std::string& of) {
  std::vector<std::string> names;
  std::string name;
  for (const char letter : of + ",") {
    if (letter == ',') {
      if (!name.empty()) names.push_back(std::exchange(name, {}));
    } else if (!std::isspace(static_cast<unsigned char>(letter))) {
      name += letter;
    }
  }
  return names;
}

bool is_none_text(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\n");
  const auto end = text.find_last_not_of(" \t\n");
  return begin != std::string_view::npos && text.substr(begin, end - begin + 1) == "None";
}

void add_name(FormulaNames& names, const std::string& name, const TypePtr& type,
              FormulaNames::Meaning meaning) {
  const auto is_same = [&](const ExpressionInput& one) { return one.name == name; };
  if (std::any_of(names.inputs.begin(), names.inputs.end(), is_same)) return;
  names.inputs.push_back({name, type});
  names.meanings.push_back(meaning);
}

// A gradient is a tensor, a list of them for an argument that is a list, or None.
void check_formula_types(const Graph& graph) {
  for (const Value* const value : graph.outputs()) {
    const Type& type = *value->type();
    if (carries_keys(type) || type.kind() == TypeKind::None || type.kind() == TypeKind::Any) {
      continue;
    }
    fail(ErrorKind::BadGraph,
         fmt::format("the formula gives a value of type {}, and a gradient is a Tensor or None",
                     to_string(type)));
  }
}

}  // namespace

FormulaNames formula_names(const Schema& schema) {
  using Kind = FormulaNames::Kind;
  FormulaNames names;
  const std::size_t results = schema.results.size();
  for (std::size_t i = 0; i < results; ++i) {
    const TypePtr& type = schema.results[i].type;
    const std::string number = std::to_string(i);
    for (const auto& [base, kind] : {std::pair<std::string, Kind>{"grad", Kind::Gradient},
                                     std::pair<std::string, Kind>{"result", Kind::Result}}) {
      if (results == 1) add_name(names, base, type, {kind, i});
      add_name(names, base + number, type, {kind, i});
    }
  }
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
    add_name(names, schema.arguments[i].name, schema.arguments[i].type, {Kind::Argument, i});
  }
  for (std::size_t i = 0; i < results; ++i) {
    const Argument& result = schema.results[i];
    if (!result.name.empty()) add_name(names, result.name, result.type, {Kind::Result, i});
  }
  return names;
}

ParsedFormula parse_formula(const Operator& op, const Formula& formula, const FormulaNames& names) {
  ParsedFormula parsed;
  for (const std::string& argument : names_in(formula.of)) {
    const auto position = op.schema().find_argument(argument);
    if (!position) {
      fail(ErrorKind::BadGraph, fmt::format("{}: there is no such argument.\nDeclaration: {}",
                                            where(op, formula), op.declaration()));
    }
    if (!carries_keys(*op.schema().arguments[*position].type) && !is_none_text(formula.text)) {
      fail(ErrorKind::BadGraph,
           fmt::format("{}: argument '{}' takes no tensor, and has no gradient", where(op, formula),
                       argument));
    }
    parsed.arguments.push_back(*position);
  }
  if (is_none_text(formula.text)) return parsed;
  ExpressionOptions options;
  options.name_space = std::string(op.name().name_space());
  options.source = where(op, formula);
  try {
    parsed.graph = parse_expression(formula.text, names.inputs, options);
    if (parsed.graph->outputs().size() != parsed.arguments.size()) {
      fail(ErrorKind::BadGraph,
           fmt::format("the formula gives {} values for {} arguments",
                       parsed.graph->outputs().size(), parsed.arguments.size()));
    }
    check_formula_types(*parsed.graph);
  } catch (const Error& error) {
    throw error.with_context(fmt::format("in {}: {}", where(op, formula), formula.text));
  }
  return parsed;
}

std::string_view tangent_line(const Formula& formula) noexcept {
  constexpr std::string_view kWord = "tangent";
  std::string_view of = formula.of;
  if (!of.starts_with(kWord)) return {};
  of.remove_prefix(kWord.size());
  const std::size_t begin = of.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos || begin == 0) return {};  // an argument of that name
  return of.substr(begin, of.find_last_not_of(" \t\n") + 1 - begin);
}

namespace {

// Its names are those of a formula without gradients, and `tangent`.
std::vector<ExpressionInput> tangent_inputs(const Operator& op, ParsedTangent& parsed) {
  using Kind = TangentMeaning::Kind;
  std::vector<ExpressionInput> inputs;
  inputs.push_back({"tangent", op.schema().arguments[parsed.argument].type});
  parsed.meanings.push_back({Kind::Tangent, parsed.argument});
  const FormulaNames names = formula_names(op.schema());
  for (std::size_t i = 0; i < names.inputs.size(); ++i) {
    const FormulaNames::Meaning& meaning = names.meanings[i];
    if (meaning.kind == FormulaNames::Kind::Gradient || names.inputs[i].name == "tangent") continue;
    inputs.push_back(names.inputs[i]);
    parsed.meanings.push_back(
        {meaning.kind == FormulaNames::Kind::Argument ? Kind::Argument : Kind::Result,
         meaning.index});
  }
  // A tangent is there if the line is used.
  if (inputs[0].type->kind() == TypeKind::Optional)
    inputs[0].type = inputs[0].type->elements().front();
  return inputs;
}

}  // namespace

ParsedTangent parse_tangent(const Operator& op, const Formula& line) {
  const std::string name(tangent_line(line));
  const auto position = op.schema().find_argument(name);
  if (!position || !carries_keys(*op.schema().arguments[*position].type)) {
    fail(ErrorKind::BadGraph,
         fmt::format("{}: there is no such argument that takes a tensor; a line \"tangent self\" "
                     "names one.\nDeclaration: {}",
                     where(op, line), op.declaration()));
  }
  ParsedTangent parsed{*position, {}, {}};
  const std::vector<ExpressionInput> inputs = tangent_inputs(op, parsed);
  ExpressionOptions options;
  options.name_space = std::string(op.name().name_space());
  options.source = where(op, line);
  try {
    parsed.graph = parse_expression(line.text, inputs, options);
    if (parsed.graph->outputs().size() != op.schema().results.size()) {
      fail(ErrorKind::BadGraph,
           fmt::format("the line gives {} values for {} results", parsed.graph->outputs().size(),
                       op.schema().results.size()));
    }
    check_formula_types(*parsed.graph);
  } catch (const Error& error) {
    throw error.with_context(fmt::format("in {}: {}", where(op, line), line.text));
  }
  return parsed;
}

}  // namespace opyard::jit
