// opyard/jit/attribute.h: a named constant on a node, of one of fifteen kinds.
//
// Depends on: jit/symbol.h, jit/attribute_kinds.def, value/value.h.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "opyard/jit/symbol.h"
#include "opyard/schema/type.h"
#include "opyard/value/value.h"

namespace opyard::jit {

class Graph;
using GraphPtr = CountedPtr<Graph>;
// Of graphs that were copied in one go.
using GraphCopies = std::unordered_map<const Graph*, GraphPtr>;

enum class AttributeKind : std::uint8_t {
#define OPYARD_ATTRIBUTE_KIND(letters, type, words) letters,
#include "opyard/jit/attribute_kinds.def"
#undef OPYARD_ATTRIBUTE_KIND
};

using AttributeValue =
    std::variant<double, std::vector<double>, std::complex<double>,
                 std::vector<std::complex<double>>, std::int64_t, std::vector<std::int64_t>,
                 std::string, std::vector<std::string>, Tensor, std::vector<Tensor>, GraphPtr,
                 std::vector<GraphPtr>, TypePtr, std::vector<TypePtr>, opyard::Value>;

// One attribute of a node: a constant by its name.
struct Attribute {
  Symbol name;
  AttributeValue value;

  AttributeKind kind() const noexcept { return AttributeKind(value.index()); }
};

// "f", "is", …
OPYARD_API const char* letters_of(AttributeKind kind) noexcept;
// "a float", "a list of ints", …
OPYARD_API const char* words_of(AttributeKind kind) noexcept;

}  // namespace opyard::jit
