// ir/builtins.h: the functions that every graph has without registering them.
//
// Depends on: ir/builtins.def, schema/schema.h.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "opyard/jit/resolve.h"

namespace opyard::jit {

// Reads its arguments in place and writes its results, as many as the schema has. What it throws
// has changed nothing. If the schema leaves the number of arguments open, null is behind the last.
using BuiltinFunction = void (*)(const opyard::Value* const* arguments, opyard::Value* result);

inline constexpr std::size_t kMostBuiltinArguments = 256;
inline constexpr std::size_t kMostBuiltinResults = 2;

struct Builtin {
  Schema schema;
  BuiltinFunction run;
  std::size_t index;  // in builtins.def
};

namespace detail {

// Whether calls of it have effects beyond what the schema says of its arguments, it prints, or
// depend on more than these.
bool has_effects(const Builtin& builtin) noexcept;

// Those of a name such as "aten::add", in order; none for an unknown one.
std::span<const Builtin* const> find_builtins(std::string_view name);
// Their names, each once.
std::vector<std::string_view> builtin_names();

#define OPYARD_UNARY(schema, A, expression)
#define OPYARD_BINARY(schema, A, B, expression)
#define OPYARD_BUILTIN(function, schema) \
  void function(const opyard::Value* const* arguments, opyard::Value* result);
#include "ir/builtins.def"
#undef OPYARD_UNARY
#undef OPYARD_BINARY
#undef OPYARD_BUILTIN

}  // namespace detail
}  // namespace opyard::jit
