// registry/signature.cpp: C++ signatures of kernels: text, and comparison with schemas.
#include "registry/signature.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace opyard {
namespace {

std::vector<Argument> numbered(const std::vector<TypePtr>& types) {
  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < types.size(); ++i) {
    Argument argument;
    argument.name = fmt::format("_{}", i);
    argument.type = types[i];
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

struct Spelling {
  TypeKind kind;
  const char* result;
  const char* argument;  // where it differs
};

constexpr Spelling kSpellings[] = {
    {TypeKind::Tensor, "Tensor", "const Tensor&"},
    {TypeKind::Int, "std::int64_t", nullptr},
    {TypeKind::Float, "double", nullptr},
    {TypeKind::Bool, "bool", nullptr},
    {TypeKind::Complex, "std::complex<double>", nullptr},
    {TypeKind::Str, "std::string", "std::string_view"},
    {TypeKind::Scalar, "opyard::Scalar", nullptr},
    {TypeKind::SymInt, "opyard::SymInt", nullptr},
    {TypeKind::ScalarType, "opyard::DType", nullptr},
    {TypeKind::Device, "opyard::Device", nullptr},
    {TypeKind::Layout, "opyard::Layout", nullptr},
    {TypeKind::MemoryFormat, "opyard::MemoryFormat", nullptr},
};

std::string spell(const Type& type, bool as_argument) {
  const auto around = [&](const char* form) {
    const std::string element = spell(type.element(), false);
    return element.empty() ? std::string() : fmt::format(fmt::runtime(form), element);
  };
  switch (type.kind()) {
    case TypeKind::Optional:
      return around("std::optional<{}>");
    case TypeKind::List:
      if (as_argument && type.element().kind() == TypeKind::Int) return "opyard::IntSpan";
      return around(as_argument ? "std::span<const {}>" : "std::vector<{}>");
    case TypeKind::Tuple: {
      std::vector<std::string> elements;
      for (const TypePtr& each : type.elements()) elements.push_back(spell(*each, false));
      const bool has_all =
          std::none_of(elements.begin(), elements.end(), [](const auto& e) { return e.empty(); });
      return has_all ? fmt::format("std::tuple<{}>", fmt::join(elements, ", ")) : std::string();
    }
    default:
      break;
  }
  for (const Spelling& row : kSpellings) {
    if (row.kind != type.kind()) continue;
    return as_argument && row.argument != nullptr ? row.argument : row.result;
  }
  return {};
}

}  // namespace

std::string cpp_signature(const Schema& schema) {
  if (schema.variadic_arguments || schema.variadic_results) return {};
  std::vector<std::string> arguments;
  for (const Argument& argument : schema.arguments) {
    const std::string type = spell(*argument.type, true);
    if (type.empty()) return {};
    arguments.push_back(type + " " + argument.name);
  }
  std::vector<std::string> results;
  for (const Argument& result : schema.results) {
    const std::string type = spell(*result.type, false);
    if (type.empty()) return {};
    results.push_back(result.is_write() ? type + "&" : type);
  }
  const std::string given = results.empty() ? "void"
                            : results.size() == 1
                                ? results.front()
                                : fmt::format("std::tuple<{}>", fmt::join(results, ", "));
  return fmt::format("{} {}({})", given, schema.name.base_name(), fmt::join(arguments, ", "));
}

Schema schema_of(const InferredTypes& types) {
  Schema schema;
  schema.arguments = numbered(types.arguments);
  schema.results = numbered(types.results);
  return schema;
}

}  // namespace opyard
