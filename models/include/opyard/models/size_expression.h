// opyard/models/size_expression.h: a size that an input has to be: 4, n, or 2*n.
//
// Names are those of sizes that vary; each has one value in a call. What is called is checked by
// check_inputs(), models/model.h.
//
// Depends on: opyard/base/export.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "opyard/base/export.h"

namespace opyard::jit {

struct SizeExpression {
  // The last six have two parts or more; FloorDiv and Mod have two.
  enum class Kind : std::uint8_t { Number, Name, Add, Mul, FloorDiv, Mod, Min, Max };

  SizeExpression(std::int64_t given = 0) : number(given) {}
  SizeExpression(std::string given) : kind(Kind::Name), name(std::move(given)) {}
  SizeExpression(Kind given, std::vector<SizeExpression> of) : kind(given), parts(std::move(of)) {}

  Kind kind = Kind::Number;
  std::int64_t number = 0;
  std::string name;
  std::vector<SizeExpression> parts;
};

// As Python writes it: "2*n + 1".
OPYARD_API std::string to_string(const SizeExpression& size);

}  // namespace opyard::jit
