// text/formula_reads.cpp: what a formula reads of its arguments, and what it knows of numbers.
#include <algorithm>
#include <iterator>

#include "opyard/jit/formula.h"

namespace opyard::jit {
namespace {

// Operators that look at no element.
constexpr std::string_view kQuestions[] = {
    "opyard::sizes",
    "aten::size",
    "aten::sym_size",
    "aten::stride",
    "aten::sym_stride",
    "aten::dim",
    "aten::numel",
    "aten::sym_numel",
    "aten::storage_offset",
    "opyard::storage_size",
    "opyard::extents",
    "opyard::numel_of",
    "opyard::is_column_major",
};

// Operators that tell the parts of a complex number apart, besides those of backwards, which are
// called so: they are made for a gradient, and know what they can take.
constexpr std::string_view kOfParts[] = {
    "aten::conj",         "aten::conj_physical",   "aten::real",  "aten::imag",
    "aten::view_as_real", "aten::view_as_complex", "aten::angle", "aten::sgn",
};

template <typename Names>
bool is_among(const Names& names, std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

bool is_question(const Node& node) { return is_among(kQuestions, node.kind().qual_string()); }

bool reads_elements(const Value& input) {
  return std::ranges::any_of(input.uses(), [](const Use& use) {
    const bool is_of_sizes = use.user->kind().qual_string() == "opyard::sum_to" && use.offset == 1;
    return !is_of_sizes && !is_question(*use.user);
  });
}

bool knows_complex(const Graph& formula) {
  return std::ranges::any_of(formula.nodes(), [](const Node* node) {
    const std::string_view name = node->kind().qual_string();
    return name.ends_with("_backward") || is_among(kOfParts, name);
  });
}

bool drop_conjugations(Graph& formula) {
  std::vector<Node*> found;
  for (Node* const node : formula.nodes()) {
    if (node->kind().qual_string() == "aten::conj") found.push_back(node);
  }
  for (Node* const node : found) {
    node->output()->replace_all_uses_with(node->input(0));
    node->destroy();
  }
  return !found.empty();
}

}  // namespace opyard::jit
