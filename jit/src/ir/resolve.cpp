// ir/resolve.cpp: choosing an overload by static types.
#include "opyard/jit/resolve.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/builtins.h"
#include "ir/node_rules.h"
#include "opyard/registry/registry.h"
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
    const TypePtr inner =
        given->kind() == TypeKind::Optional ? given->elements().front() : given;
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
  // A list whose element type nobody knows comes from an empty one.
  if (wanted.kind() == TypeKind::List && given->kind() == TypeKind::List &&
      given->element().kind() == TypeKind::Any) {
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
  for (const TypePtr& element : type->elements()) elements.push_back(substituted(element, bindings));
  return compound_type(type->kind(), std::move(elements));
}

struct Misfit {
  std::string reason;  // empty for one that fits
  std::size_t inexact = 0;
  std::size_t left_out = 0;
};

Misfit match(const Schema& schema, std::span<const TypePtr> inputs) {
  const std::vector<Argument>& arguments = schema.arguments;
  Misfit misfit;
  if (inputs.size() > arguments.size() && !schema.variadic_arguments) {
    misfit.reason = fmt::format("takes {} arguments, not {}", arguments.size(), inputs.size());
    return misfit;
  }
  Bindings bindings;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (i >= inputs.size()) {
      if (!arguments[i].default_value) {
        misfit.reason = fmt::format("argument '{}' is missing", arguments[i].name);
        return misfit;
      }
      ++misfit.left_out;
      continue;
    }
    if (!takes(*arguments[i].type, inputs[i], bindings)) {
      misfit.reason = fmt::format("argument '{}' is {}, not {}", arguments[i].name,
                                  opyard::to_string(*arguments[i].type), type_text(*inputs[i]));
      return misfit;
    }
    if (!equal(*runtime_type(*arguments[i].type), *runtime_type(*inputs[i]))) ++misfit.inexact;
  }
  return misfit;
}

std::string list_types(std::span<const TypePtr> types) {
  std::string text;
  for (const TypePtr& type : types) {
    if (!text.empty()) text += ", ";
    text += type_text(*type);
  }
  return '(' + text + ')';
}

[[noreturn]] OPYARD_COLD void refuse(std::string_view name, std::span<const TypePtr> inputs,
                                     const std::vector<Callee>& candidates,
                                     const std::vector<Misfit>& misfits) {
  std::string text;
  if (candidates.empty()) {
    text = fmt::format("there is no operator '{}'", name);
  } else {
    text = fmt::format("no overload of '{}' takes {}", name, list_types(inputs));
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    text += fmt::format("\n  {}\n    {}", opyard::to_string(candidates[i].schema()),
                        misfits[i].reason);
  }
  fail(ErrorKind::BadGraph, text);
}

std::vector<Callee> find_candidates(std::string_view name, std::string_view overload,
                                    bool any_overload) {
  std::vector<Callee> found;
  for (const Builtin* const builtin : detail::find_builtins(name)) {
    if (any_overload || builtin->schema.name.overload == overload) found.push_back({nullptr, builtin});
  }
  const Registry& registry = Registry::instance();
  for (const std::string& registered : registry.overloads(name)) {
    if (!any_overload && registered != overload) continue;
    if (const Operator* const op = registry.find({std::string(name), registered})) {
      found.push_back({op, nullptr});
    }
  }
  return found;
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

Callee choose_overload(std::string_view name, std::string_view overload,
                       std::span<const TypePtr> inputs) {
  const std::vector<Callee> candidates = find_candidates(name, overload, overload.empty());
  std::vector<Misfit> misfits;
  misfits.reserve(candidates.size());
  std::size_t best = candidates.size();
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    misfits.push_back(match(candidates[i].schema(), inputs));
    if (!misfits[i].reason.empty()) continue;
    const auto rank = [&](std::size_t at) {
      return std::pair(misfits[at].inexact, misfits[at].left_out);
    };
    if (best == candidates.size() || rank(i) < rank(best)) best = i;
  }
  if (best == candidates.size()) refuse(name, inputs, candidates, misfits);
  return candidates[best];
}

Callee resolve(const Node& node) {
  try {
    const std::vector<TypePtr> types = input_types(node);
    return choose_overload(node.kind().qual_string(),
                           node.overload().defined() ? node.overload().name() : "", types);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::BadGraph) throw;
    fail(ErrorKind::BadGraph, fmt::format("{}: {}", detail::describe_node(node), error.what()));
  }
}

bool is_known_operator(std::string_view name) {
  return !detail::find_builtins(name).empty() || !Registry::instance().overloads(name).empty();
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

std::string why_not_called(const Schema& schema, std::span<const TypePtr> inputs) {
  return match(schema, inputs).reason;
}

}  // namespace opyard::jit
