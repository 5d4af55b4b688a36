// registry/signature.cpp: C++ signatures of kernels: text, and comparison with schemas.
#include "registry/signature.h"

#include <fmt/format.h>

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

}  // namespace

Schema schema_of(const InferredTypes& types) {
  Schema schema;
  schema.arguments = numbered(types.arguments);
  schema.results = numbered(types.results);
  return schema;
}

}  // namespace opyard
