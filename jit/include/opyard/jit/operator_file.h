// opyard/jit/operator_file.h: files of operators: each operator is one block of text.
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
// docs/reference/operator_files.md describes what a block may have.
//
// Depends on: jit/parse.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opyard/jit/parse.h"

namespace opyard::jit {

// A part of a file, and where it begins.
struct PlacedText {
  std::string text;
  std::uint32_t line = 0;    // from 1
  std::uint32_t column = 0;  // from 1, in bytes
};

struct OperatorBlock {
  PlacedText schema;
  std::string doc;
  std::vector<std::string> tags;
  std::vector<std::pair<std::string, PlacedText>> derivatives;  // the arguments, and the formula
  std::optional<PlacedText> body;
};

struct OperatorFile {
  std::string name_space;
  std::vector<OperatorBlock> blocks;
};

// `source` is what errors call the file. Raises BadGraph, with line and column.
OPYARD_API OperatorFile parse_operator_file(std::string_view text, const std::string& source);

}  // namespace opyard::jit
