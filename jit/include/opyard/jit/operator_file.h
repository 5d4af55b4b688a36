// opyard/jit/operator_file.h: files of operators, each of which is one block of text, and headers
// with their calls.
//
//   namespace demo
//
//   operator lerp_to(Tensor x, Tensor to, float by=0.5) -> Tensor {
//     doc "Goes a part of the way to another tensor."
//     tags pointwise
//     derivative x { sum_to(grad * (1 - by), x) }
//     derivative to { sum_to(grad * by, to) }
//     body { x + (to - x) * by }
//   }
//
// The file is read as it is; who registers its operators reads schemas, formulas and bodies.
// docs/reference/operator_files.md describes what a block may have. Files that are compiled into a
// library may have a few lines more: where a kernel is, and which other forms there are.
//
// Depends on: jit/parse.h, schema/schema.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opyard/jit/parse.h"
#include "opyard/schema/schema.h"

namespace opyard::jit {

// A part of a file, and where it begins.
struct PlacedText {
  std::string text;
  std::uint32_t line = 0;    // from 1
  std::uint32_t column = 0;  // from 1, in bytes
};

// What else a block may have in a file that is compiled into a library.
struct CompiledLines {
  std::optional<PlacedText> kernel;  // the name of a C++ function
  std::vector<std::string> keys;     // where it is registered; empty: at CPU and Meta
  // "numpy" or "scipy": the operator is defined with its kernel when Python first asks for it.
  std::string answered_by;
  bool in_place = false;           // `f_` writes what `f` gives to self
  std::optional<std::string> out;  // so does this overload of `f` to its argument `out`
};

struct OperatorBlock {
  PlacedText schema;
  std::string doc;
  std::vector<std::string> tags;
  // The arguments and the formula, or "tangent self" and the line.
  std::vector<std::pair<std::string, PlacedText>> derivatives;
  std::optional<PlacedText> body;
  CompiledLines compiled;
};

// What a file of operators says: its namespace, and a block for each operator.
struct OperatorFile {
  std::string name_space;
  std::vector<OperatorBlock> blocks;
};

// Whether bodies are loaded into the registry, or compiled to C++.
enum class OperatorFileUse { Loaded, Compiled };

// `source` is what errors call the file. Raises BadGraph, with line and column.
OPYARD_API OperatorFile parse_operator_file(std::string_view text, const std::string& source,
                                            OperatorFileUse use = OperatorFileUse::Loaded);

struct CppSignature {
  std::string result;
  std::vector<std::string> parameters;  // their types
};

// The function that a schema asks for, in the types that kernels usually take. Raises Unsupported
// for a type that has none.
OPYARD_API CppSignature cpp_signature(const Schema& schema);

// The text of a header with a C++ function for each of these operators, which are defined:
//
//   opyard::Tensor sum = opyard::aten::add(x, y);
//
// A function has the name of its operator, the schema's arguments with their defaults, and costs
// what a FoundOperator costs, which it is made of. The name of an overload that writes its result
// to an argument ends in `_out`; one with the parameters of an earlier overload has its own name
// behind. An operator that has a kernel of C++ is called by that one's types. `source` is what the
// header says that it is made of. Raises Unsupported, NotFound.
OPYARD_API std::string typed_calls_header(std::string_view source, std::string_view name_space,
                                          std::span<const OperatorName> names);

}  // namespace opyard::jit
