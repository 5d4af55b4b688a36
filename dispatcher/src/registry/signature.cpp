// registry/signature.cpp: C++ signatures, as people and schemas see them.
#include "registry/signature.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdlib>
#include <memory>

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

std::string readable(const std::type_info& signature) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(signature.name(), nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : signature.name();
}

Schema schema_of(const InferredTypes& types) {
  Schema schema;
  schema.arguments = numbered(types.arguments);
  schema.results = numbered(types.results);
  return schema;
}

}  // namespace opyard
