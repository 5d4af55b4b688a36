// ir/resolve.cpp: overload resolution by static types.
#include "opyard/jit/resolve.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/builtins.h"
#include "ir/node_rules.h"
#include "ir/written_call.h"
#include "opyard/detail/jit/load_operator.h"
#include "opyard/detail/text/near_names.h"
#include "opyard/inspect/inspect.h"
#include "opyard/registry/registry.h"
#include "opyard/schema/choose_overload.h"
#include "opyard/schema/relations.h"

namespace opyard::jit {
namespace {

// What type variables stand for, by name.
using Bindings = std::vector<std::pair<std::string, TypePtr>>;

TypePtr find_binding(const Bindings& bindings, const std::string& name) {
  for (const auto& [known, type] : bindings) {
    if (known == name) return type;
  }
  return {};
}

// Whether an argument of type `wanted` takes a value of type `given`; type variables are bound.
bool takes(const Type& wanted, const TypePtr& given, Bindings& bindings) {
  if (wanted.kind() == TypeKind::Variable) {
    const TypePtr bound = find_binding(bindings, wanted.name());
    if (bound == nullptr) {
      bindings.emplace_back(wanted.name(), given);
      return true;
    }
    return is_subtype(*given, *bound);
  }
  if (wanted.kind() == TypeKind::Optional) {
    if (given->kind() == TypeKind::None) return true;
    const TypePtr inner = given->kind() == TypeKind::Optional ? given->elements().front() : given;
    return takes(wanted.element(), inner, bindings);
  }
  const auto has_variable = [](const Type& type) {
    return std::any_of(type.elements().begin(), type.elements().end(), [](const TypePtr& element) {
      return element->kind() == TypeKind::Variable || !element->elements().empty();
    });
  };
  if (wanted.kind() == given->kind() && has_variable(wanted) &&
      wanted.elements().size() == given->elements().size()) {
    for (std::size_t i = 0; i < wanted.elements().size(); ++i) {
      if (!takes(*wanted.elements()[i], given->elements()[i], bindings)) return false;
    }
    return true;
  }
  return is_subtype(*runtime_type(*given), *runtime_type(wanted));
}

TypePtr substituted(const TypePtr& type, const Bindings& bindings) {
  if (type->kind() == TypeKind::Variable) {
    const TypePtr bound = find_binding(bindings, type->name());
    return bound == nullptr ? base_type(TypeKind::Any) : bound;
  }
  switch (type->kind()) {
    case TypeKind::List:
      return list_of(substituted(type->elements().front(), bindings));
    case TypeKind::Optional:
      return optional_of(substituted(type->elements().front(), bindings));
    default:
      break;
  }
  if (type->elements().empty()) return runtime_type(*type);
  std::vector<TypePtr> elements;
  for (const TypePtr& element : type->elements())
    elements.push_back(substituted(element, bindings));
  return compound_type(type->kind(), std::move(elements));
}

struct OverloadMatch {
  std::string reason;      // why it does not fit; empty if it does
  std::vector<int> given;  // see Choice
};

// What is given without names: all inputs of a node, or the positional arguments of a call.
enum class ArgumentRow { Inputs, Positional };

// Which of the given ones each argument is. False, with a reason, for one too many or given twice.
bool arrange(const Schema& schema, const GivenTypes& types, ArgumentRow row, OverloadMatch& match) {
  const std::size_t count = schema.arguments.size();
  if (types.positional.size() > count && !schema.variadic_arguments) {
    match.reason = fmt::format("takes {} arguments, not {}", count, types.positional.size());
    return false;
  }
  match.given.assign(count, -1);
  for (std::size_t i = 0; i < std::min(count, types.positional.size()); ++i) {
    if (row == ArgumentRow::Positional && schema.arguments[i].keyword_only) {
      match.reason = fmt::format("argument '{}' is given by name only", schema.arguments[i].name);
      return false;
    }
    match.given[i] = int(i);
  }
  for (std::size_t i = 0; i < types.by_name.size(); ++i) {
    const std::string& name = types.by_name[i].first;
    const std::optional<std::size_t> at = schema.find_argument(name);
    if (!at || match.given[*at] >= 0) {
      match.reason = at ? fmt::format("argument '{}' is given twice", name)
                        : fmt::format("has no argument '{}'", name);
      return false;
    }
    match.given[*at] = int(types.positional.size() + i);
  }
  return true;
}

OverloadMatch match_schema(const Schema& schema, const GivenTypes& types, ArgumentRow row) {
  OverloadMatch match;
  if (!arrange(schema, types, row, match)) return match;
  Bindings bindings;
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
    const Argument& argument = schema.arguments[i];
    if (match.given[i] < 0) {
      if (!argument.default_value) {
        match.reason = fmt::format("argument '{}' is missing", argument.name);
        return match;
      }
      continue;
    }
    const auto at = std::size_t(match.given[i]);
    const std::size_t positional = types.positional.size();
    const TypePtr& given =
        at < positional ? types.positional[at] : types.by_name[at - positional].second;
    if (!takes(*argument.type, given, bindings)) {
      match.reason = fmt::format("argument '{}' is {}, not {}", argument.name,
                                 opyard::to_string(*argument.type), type_text(*given));
      return match;
    }
  }
  return match;
}

std::string list_types(const GivenTypes& types) {
  std::string text;
  for (const TypePtr& type : types.positional) {
    text += text.empty() ? "" : ", ";
    text += type_text(*type);
  }
  for (const auto& [name, type] : types.by_name) {
    text += text.empty() ? "" : ", ";
    text += name + "=" + type_text(*type);
  }
  return '(' + text + ')';
}

// How many of the arguments without names fit one after the other, whatever comes behind them.
std::size_t count_fitting(const Schema& schema, const GivenTypes& types) {
  Bindings bindings;
  std::size_t count = 0;
  while (count < std::min(schema.arguments.size(), types.positional.size()) &&
         takes(*schema.arguments[count].type, types.positional[count], bindings)) {
    ++count;
  }
  return count;
}

// The one of which most arguments fit; among equals one that takes the next one by position, then
// the first.
const Callee& likeliest(const std::vector<Callee>& candidates, const GivenTypes& types) {
  const auto rank = [&](const Callee& each) {
    const std::size_t count = count_fitting(each.schema(), types);
    const std::vector<Argument>& arguments = each.schema().arguments;
    return std::pair(count, count < arguments.size() && !arguments[count].keyword_only);
  };
  const Callee* best = &candidates.front();
  for (const Callee& each : candidates) {
    if (rank(each) > rank(*best)) best = &each;
  }
  return *best;
}

[[noreturn]] OPYARD_COLD void refuse_overload(std::string_view name, std::string_view overload,
                                              const GivenTypes& types, ArgumentRow row,
                                              const std::vector<Callee>& candidates) {
  std::string text;
  if (candidates.empty() && is_known_operator(name)) {
    const std::vector<std::string> overloads = inspect::overloads(name);
    const std::string_view meant = opyard::detail::near_name(
        overload, std::vector<std::string_view>(overloads.begin(), overloads.end()));
    text = fmt::format("operator '{}' has no overload '{}'", name, overload);
    if (!meant.empty()) text += fmt::format("; '{}' may be meant", meant);
  } else if (candidates.empty()) {
    text = fmt::format("there is no operator '{}'{}", name, detail::where_it_may_be(name));
  } else {
    text = fmt::format("no overload of '{}' takes {}", name, list_types(types));
  }
  if (!candidates.empty()) {
    const Callee& best = likeliest(candidates, types);
    text += fmt::format("\n  {}\n    {}", opyard::to_string(best.schema()),
                        match_schema(best.schema(), types, row).reason);
    std::vector<std::string> others;
    for (const Callee& each : candidates) {
      if (&each != &best) others.push_back(each.schema().name.overload);
    }
    if (!others.empty()) text += "\n  " + list_other_overloads(std::move(others));
  }
  fail(ErrorKind::BadGraph, text);
}

std::vector<Callee> find_candidates(std::string_view name, std::string_view overload,
                                    bool any_overload) {
  std::vector<Callee> found;
  for (const Builtin* const builtin : detail::find_builtins(name)) {
    if (any_overload || builtin->schema.name.overload == overload)
      found.push_back({nullptr, builtin});
  }
  const Registry& registry = Registry::instance();
  for (const std::string& registered : inspect::overloads(name)) {
    if (!any_overload && registered != overload) continue;
    if (const Operator* const op = registry.find({std::string(name), registered})) {
      found.push_back({op, nullptr});
    }
  }
  return found;
}

// No static type is converted to another: a text's literals are, by who reads it.
std::optional<Choice> find_first(std::string_view name, std::string_view overload,
                                 const GivenTypes& types, ArgumentRow row) {
  const std::vector<Callee> candidates = find_candidates(name, overload, overload.empty());
  OverloadMatch match;
  const std::optional<std::size_t> chosen = opyard::choose_overload(
      candidates.size(), [](std::size_t) { return false; },
      [&](std::size_t i) {
        match = match_schema(candidates[i].schema(), types, row);
        return match.reason.empty();
      });
  if (!chosen) return std::nullopt;
  return Choice{candidates[*chosen], std::move(match.given)};
}

Choice require_first(std::string_view name, std::string_view overload, const GivenTypes& types,
                     ArgumentRow row) {
  std::optional<Choice> choice = find_first(name, overload, types, row);
  if (!choice)
    refuse_overload(name, overload, types, row, find_candidates(name, overload, overload.empty()));
  return *std::move(choice);
}

std::vector<TypePtr> input_types(const Node& node) {
  std::vector<TypePtr> types;
  types.reserve(node.inputs().size());
  for (const Value* const input : node.inputs()) types.push_back(input->type());
  return types;
}

}  // namespace

const Schema& Callee::schema() const noexcept {
  return op != nullptr ? op->schema() : builtin->schema;
}

std::optional<Choice> find_call(std::string_view name, std::string_view overload,
                                const GivenTypes& types) {
  return find_first(name, overload, types, ArgumentRow::Inputs);
}

std::optional<Choice> detail::find_written_call(std::string_view name, const GivenTypes& types) {
  load_operator(name);
  return find_first(name, "", types, ArgumentRow::Positional);
}

Choice choose_call(std::string_view name, std::string_view overload, const GivenTypes& types) {
  detail::load_operator(name);
  return require_first(name, overload, types, ArgumentRow::Inputs);
}

Choice detail::choose_written_call(std::string_view name, const GivenTypes& types) {
  load_operator(name);
  return require_first(name, "", types, ArgumentRow::Positional);
}

Callee choose_overload(std::string_view name, std::string_view overload,
                       std::span<const TypePtr> inputs) {
  return choose_call(name, overload, {inputs, {}}).callee;
}

Callee resolve(const Node& node) {
  detail::load_operator(node);
  try {
    const std::vector<TypePtr> types = input_types(node);
    return require_first(node.kind().qual_string(),
                         node.overload().defined() ? node.overload().name() : "", {types, {}},
                         ArgumentRow::Inputs)
        .callee;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::BadGraph) throw;
    fail(ErrorKind::BadGraph, fmt::format("{}: {}", detail::describe_node(node), error.what()));
  }
}

bool is_known_operator(std::string_view name) {
  return !detail::find_builtins(name).empty() || !inspect::overloads(name).empty();
}

std::vector<TypePtr> result_types(const Schema& schema, std::span<const TypePtr> inputs) {
  Bindings bindings;
  for (std::size_t i = 0; i < std::min(inputs.size(), schema.arguments.size()); ++i) {
    takes(*schema.arguments[i].type, inputs[i], bindings);
  }
  std::vector<TypePtr> types;
  for (const Argument& result : schema.results) {
    types.push_back(substituted(result.type, bindings));
  }
  return types;
}

}  // namespace opyard::jit
