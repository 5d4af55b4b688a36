// text/formula_reads.cpp: arguments that a formula reads, and its constants.
#include <algorithm>
#include <iterator>

#include "ir/callee.h"
#include "opyard/jit/formula.h"
#include "opyard/jit/symbol.h"

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
    "aten::conj",  "aten::conj_physical", "aten::real",
    "aten::imag",  "aten::view_as_real",  "aten::view_as_complex",
    "aten::angle", "aten::sgn",           "aten::adjoint",
};

// Operators that give real numbers for real ones. Others, such as aten::complex, may not.
constexpr std::string_view kOfRealNumbers[] = {
    "aten::add",   "aten::conj",       "aten::cos",       "aten::cosh",      "aten::div",
    "aten::exp",   "aten::log",        "aten::mul",       "aten::neg",       "aten::pow",
    "aten::rsqrt", "aten::rsub",       "aten::sgn",       "aten::sigmoid",   "aten::sin",
    "aten::sinh",  "aten::sqrt",       "aten::sub",       "aten::t",         "aten::tan",
    "aten::tanh",  "aten::reciprocal", "aten::transpose", "aten::unsqueeze",
};

template <typename Names>
bool is_among(const Names& names, std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Whether a value is a real number if the formula's inputs are.
bool stays_real(const Value& value) {
  const Node& node = *value.node();
  if (node.kind() == prim::Param) return true;
  if (node.kind() == prim::Constant) {
    const auto type = value.type()->kind();
    return type == TypeKind::Int || type == TypeKind::Float || type == TypeKind::Bool;
  }
  if (node.kind() == prim::unchecked_cast) return stays_real(*node.input());
  if (node.kind() == prim::If) {
    return std::ranges::all_of(node.blocks(), [&](const Block* block) {
      return stays_real(*block->outputs()[value.offset()]);
    });
  }
  return is_among(kOfRealNumbers, node.kind().qual_string()) &&
         std::ranges::all_of(node.inputs(), [](const Value* input) { return stays_real(*input); });
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
  bool knows = false;
  detail::each_node(formula.block(), [&](const Node* node) {
    const std::string_view name = node->kind().qual_string();
    knows = knows || name.ends_with("_backward") || is_among(kOfParts, name);
  });
  return knows;
}

bool drop_conjugations(Graph& formula) {
  std::vector<Node*> found;
  detail::each_node(formula.block(), [&](Node* node) {
    if (node->kind().qual_string() == "aten::conj" && stays_real(*node->input(0))) {
      found.push_back(node);
    }
  });
  for (Node* const node : found) {
    node->output()->replace_all_uses_with(node->input(0));
    node->destroy();
  }
  return !found.empty();
}

}  // namespace opyard::jit
