// files/sizes.h: expressions of sizes: read from a program and from our own form, and computed.
//
// Depends on: files/json.h, models/size_expression.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "files/json.h"
#include "opyard/models/size_expression.h"

namespace opyard::jit {

// Reads what a program has: "Add(Symbol('n', integer=True), Integer(2))". Raises BadValue for
// what is no such text, and Unsupported for functions that are not read. `what` names the size.
SizeExpression parse_size(std::string_view text, const std::string& what);

// Our own form: 4, "n", ["mul", 2, "n"].
Json size_json(const SizeExpression& size);
SizeExpression read_size_json(const Json& json, const std::string& what);

using SizeValues = std::map<std::string, std::int64_t>;

// The first name in it that has no value. Null if all have one.
const std::string* find_unknown(const SizeExpression& size, const SizeValues& known);

// factor * unknown + rest.
struct LinearSize {
  std::int64_t factor = 0;
  std::int64_t rest = 0;
};
// With the values of all names but `unknown`. Nothing if it is not linear in that one, if another
// name has no value, if it divides by 0, and if it leaves 64 bits.
std::optional<LinearSize> linear_size(const SizeExpression& size, const SizeValues& known,
                                      std::string_view unknown = {});

}  // namespace opyard::jit
