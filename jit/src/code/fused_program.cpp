// code/fused_program.cpp: reading the graph of a group.
#include "code/fused_program.h"

#include <algorithm>
#include <unordered_map>

namespace opyard::jit {
namespace {

class Reader {
 public:
  explicit Reader(const Graph& graph) : graph_(graph) {}

  bool read() {
    for (const Value* const input : graph_.inputs()) {
      if (input->type()->kind() != TypeKind::Tensor) return false;
      add_value(input, std::nullopt);
    }
    program.inputs = graph_.inputs().size();
    for (const Node* const node : graph_.nodes()) {
      if (node->kind() != prim::Constant && !read_step(*node)) return false;
    }
    for (const Value* const output : graph_.outputs()) {
      const auto found = known_.find(output);
      const bool is_given = found != known_.end() && output->node()->kind() != prim::Param &&
                            !program.numbers[found->second];
      if (!is_given || std::ranges::count(program.outputs, found->second) > 0) return false;
      program.outputs.push_back(found->second);
    }
    return !program.steps.empty() && !program.outputs.empty() &&
           program.value_count() <= FusedProgram::kMostValues;
  }

  FusedProgram program;

 private:
  std::uint16_t add_value(const Value* value, std::optional<detail::FusibleNumber> number) {
    program.numbers.push_back(number);
    return known_[value] = std::uint16_t(program.numbers.size() - 1);
  }
  std::optional<std::uint16_t> find(const Value* value) {
    const auto known = known_.find(value);
    if (known != known_.end()) return known->second;
    const auto number = detail::find_fusible_number(value);
    return number ? std::optional(add_value(value, number)) : std::nullopt;
  }

  bool read_step(const Node& node) {
    const auto call = detail::find_fusible_call(node);
    if (!call) return false;
    program.conversion = call->offered->conversion;
    program.pair = call->offered->pair;
    program.strides = call->offered->strides;
    FusedStep step{call->op, *call->function, call->converted, {}, 0};
    for (std::size_t i = 0; i < step.function.operands; ++i) {
      const auto value = find(node.inputs()[step.function.order[i]]);
      if (!value) return false;
      step.reads[i] = *value;
    }
    step.gives = add_value(node.output(), std::nullopt);
    program.steps.push_back(step);
    return true;
  }

  const Graph& graph_;
  std::unordered_map<const Value*, std::uint16_t> known_;
};

}  // namespace

std::optional<FusedProgram> make_fused_program(const Graph& graph) {
  Reader reader(graph);
  if (!reader.read()) return std::nullopt;
  return std::move(reader.program);
}

}  // namespace opyard::jit
