// opyard/schema/schema.h: schemas: arguments, results, alias annotations.
//
//   ns::name.overload(Tensor(a!) self, int[2] size, *, float alpha=1.0) -> Tensor(a!)
//
// A schema is plain data. It is made by parse_schema() (schema/parse.h) or from a C++
// signature (registry/infer.h), printed by to_string() so that parsing the print gives the
// same schema, and never changed once an operator has it.
//
// Depends on: base/rare.h, schema/type.h.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/detail/base/rare.h"
#include "opyard/schema/type.h"

namespace opyard {

// "ns::name" and an overload, which is empty for the default one.
struct OperatorName {
  std::string name;      // with its namespace: "demo::scaled_add"
  std::string overload;  // "", "Tensor", "out", …

  // The part before "::", empty if there is none; and the part after it.
  OPYARD_API std::string_view name_space() const;
  OPYARD_API std::string_view base_name() const;
  auto operator<=>(const OperatorName&) const = default;
};

// "ns::name" or "ns::name.overload".
OPYARD_API std::string to_string(const OperatorName& name);

// The alias sets of one argument or result: (a), (a!), (a|b), (a! -> b|c), (a -> *).
//
//   Tensor(a!)         before {a}, written
//   Tensor(a!)?        the same: an optional has the sets of what is in it
//   Tensor(a!)[]       nothing itself; contained {before {a}, written}
//   Tensor[](a!)       before {a}, written: the list itself
//   Tensor!            before {$0}, written; every such mark makes a set of its own
struct AliasInfo {
  bool is_write = false;
  std::vector<std::string> before;   // in source order; "*" is the wildcard
  std::vector<std::string> after;    // equal to `before` if no arrow was written
  std::vector<AliasInfo> contained;  // one for each element type, if any of them has sets

  // Sets are here, not only in `contained`.
  bool has_sets() const { return !before.empty() || !after.empty(); }
  bool operator==(const AliasInfo&) const = default;
};

struct Argument {
  std::string name;  // empty for an unnamed result
  TypePtr type;
  std::optional<Value> default_value;
  bool keyword_only = false;
  Rare<AliasInfo> alias;

  // A write set is on the type or inside it.
  OPYARD_API bool is_write() const;
  // Takes the result of the call: keyword-only and written to.
  bool is_out() const { return keyword_only && is_write(); }
  OPYARD_API bool operator==(const Argument& other) const;
};

// As written: "Tensor(a!) x", "int[] size=[1, 2]"; without a name if a result has none.
OPYARD_API std::string to_string(const Argument& argument);

struct Schema {
  OperatorName name;
  std::vector<Argument> arguments;
  std::vector<Argument> results;
  bool variadic_arguments = false;
  bool variadic_results = false;

  // Any argument is written to.
  OPYARD_API bool is_mutable() const;
  // A result aliases an argument that is not written to: a view.
  OPYARD_API bool is_view() const;
  // The position of the argument with this name, or nothing.
  OPYARD_API std::optional<std::size_t> find_argument(std::string_view argument) const;
  OPYARD_API bool operator==(const Schema& other) const;
};

// The whole schema as it would be written; parse_schema() gives it back.
OPYARD_API std::string to_string(const Schema& schema);

// The same schema with the types that a kernel sees; the names of types such as ScalarType are
// for people, and go.
OPYARD_API Schema with_runtime_types(Schema schema, Symbolic symbolic = Symbolic::AsPlain);

// Why two schemas differ in the number or the runtime types of arguments and results, as one
// line such as "The number of arguments is different. 2 vs 1."; nothing if they agree.
// Names, defaults and aliases are not compared.
OPYARD_API std::optional<std::string> find_difference(const Schema& a, const Schema& b);

}  // namespace opyard
