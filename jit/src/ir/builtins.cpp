// ir/builtins.cpp: the table of built-in functions, and those on numbers.
#include "ir/builtins.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>

#include "ir/scalar_math.h"
#include "opyard/detail/base/made_once.h"
#include "opyard/keys/local.h"
#include "opyard/schema/parse.h"

namespace opyard::jit::detail {
namespace {

#define OPYARD_UNARY(schema, A, expression)                                   \
  {schema, [](const opyard::Value* const* arguments, opyard::Value* result) { \
     const A a = scalar_of<A>(*arguments[0]);                                 \
     *result = opyard::Value(expression);                                     \
   }},
#define OPYARD_BINARY(schema, A, B, expression)                               \
  {schema, [](const opyard::Value* const* arguments, opyard::Value* result) { \
     const A a = scalar_of<A>(*arguments[0]);                                 \
     const B b = scalar_of<B>(*arguments[1]);                                 \
     *result = opyard::Value(expression);                                     \
   }},
#define OPYARD_BUILTIN(function, schema) {schema, &function},
constexpr struct {
  const char* schema;
  BuiltinFunction run;
} kTable[] = {
#include "ir/builtins.def"
};
#undef OPYARD_UNARY
#undef OPYARD_BINARY
#undef OPYARD_BUILTIN

struct Names {
  std::deque<Builtin> all;
  std::map<std::string, std::vector<const Builtin*>, std::less<>> by_name;
};

// Made at first use and leaked, so that codes may run in static destructors.
const Names& names() {
  static constinit MadeOnce<Names> names;
  return names.get([] {
    auto made = std::make_unique<Names>();
    for (std::size_t i = 0; i < std::size(kTable); ++i) {
      made->all.push_back({parse_schema(kTable[i].schema), kTable[i].run, i});
      made->by_name[made->all.back().schema.name.name].push_back(&made->all.back());
    }
    return std::unique_ptr<const Names>(std::move(made));
  });
}

// Whether a layer is on for the thread on which the graph runs.
bool has_layer(DispatchKey key) noexcept {
  const LocalKeys keys = local_keys();
  return keys.include.has(key) && !keys.exclude.has(key);
}

}  // namespace

std::span<const Builtin* const> find_builtins(std::string_view name) {
  const auto found = names().by_name.find(name);
  if (found == names().by_name.end()) return {};
  return found->second;
}

std::vector<std::string_view> builtin_names() {
  std::vector<std::string_view> found;
  for (const auto& [name, builtins] : names().by_name) found.push_back(name);
  return found;
}

bool has_effects(const Builtin& builtin) noexcept {
  constexpr BuiltinFunction kWithEffects[] = {&print_values, &warn_of_text, &is_cuda_autocast,
                                              &is_cpu_autocast};
  return std::ranges::find(kWithEffects, builtin.run) != std::end(kWithEffects);
}

void is_cuda_autocast(const opyard::Value* const*, opyard::Value* result) {
  *result = opyard::Value(has_layer(DispatchKey::AutocastCUDA));
}
void is_cpu_autocast(const opyard::Value* const*, opyard::Value* result) {
  *result = opyard::Value(has_layer(DispatchKey::AutocastCPU));
}

void refuse_zero() { fail(ErrorKind::BadValue, "division by zero"); }
void refuse_float(double number) {
  fail(ErrorKind::BadValue, fmt::format("{} cannot be an int", float_text(number)));
}

}  // namespace opyard::jit::detail
