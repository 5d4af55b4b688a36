// fusion/fused_program.cpp: building a fused program from a group's graph.
#include "fusion/fused_program.h"

#include <algorithm>
#include <unordered_map>

namespace opyard::jit {
namespace {

struct Call {
  const Node* node;
  detail::FusibleCall fusible;
  std::size_t part;
};

// Numbers the values of one part.
class PartReader {
 public:
  FusedPart part;

  void add_input(const Value* value, std::uint16_t input) {
    if (known_.contains(value)) return;
    part.inputs.push_back(input);
    add_value(value, std::nullopt);
  }
  bool add_step(const Call& call) {
    FusedStep step{call.fusible.op, *call.fusible.function, call.fusible.converted, {}, 0};
    for (std::size_t i = 0; i < step.function.operands; ++i) {
      const auto value = find(call.node->input(step.function.order[i]));
      if (!value) return false;
      step.reads[i] = *value;
    }
    step.gives = add_value(call.node->output(), std::nullopt);
    part.steps.push_back(step);
    return true;
  }
  // Appends a value to one of the lists of the part; gives its index there.
  std::uint16_t append_to(std::vector<std::uint16_t>& list, const Value* value) {
    list.push_back(known_.at(value));
    return std::uint16_t(list.size() - 1);
  }
  bool is_given(const Value* value) const {
    return known_.contains(value) && known_.at(value) >= part.inputs.size();
  }

 private:
  std::uint16_t add_value(const Value* value, std::optional<detail::FusibleNumber> number) {
    part.numbers.push_back(number);
    return known_[value] = std::uint16_t(part.numbers.size() - 1);
  }
  std::optional<std::uint16_t> find(const Value* value) {
    const auto known = known_.find(value);
    if (known != known_.end()) return known->second;
    const auto number = detail::find_fusible_number(value);
    return number ? std::optional(add_value(value, number)) : std::nullopt;
  }

  std::unordered_map<const Value*, std::uint16_t> known_;
};

class ProgramReader {
 public:
  explicit ProgramReader(const Graph& graph) : graph_(graph) {}

  bool read() {
    for (const Value* const input : graph_.inputs()) {
      if (input->type()->kind() != TypeKind::Tensor) return false;
      inputs_[input] = std::uint16_t(inputs_.size());
    }
    program.inputs = inputs_.size();
    for (const Node* const node : graph_.nodes()) {
      const bool is_silent =
          node->kind() == prim::Constant || detail::find_tail_of_list(*node) != nullptr;
      if (!is_silent && (tail_node_ != nullptr || !read_call(*node))) return false;
    }
    if (calls_.empty() || !read_parts() || !read_tail() || !read_outputs()) return false;
    for (PartReader& one : parts_) {
      if (one.part.value_count() + one.part.operands.size() > FusedPart::kMostValues) return false;
      program.parts.push_back(std::move(one.part));
    }
    return true;
  }

  FusedProgram program;

 private:
  bool read_call(const Node& node) {
    if (const auto call = detail::find_fusible_call(node)) {
      program.conversion = call->offered->conversion;
      program.chain = call->offered->chain;
      program.strides = call->offered->strides;
      join_parts(node, *call);
      return true;
    }
    tail_ = detail::find_fusible_tail(node);
    tail_node_ = &node;
    return tail_.has_value();
  }

  // A call and those whose results it takes are one part.
  void join_parts(const Node& node, const detail::FusibleCall& fusible) {
    const std::size_t own = calls_.size();
    calls_.push_back({&node, fusible, own});
    for (const Value* const input : node.inputs()) {
      const auto giver = std::ranges::find(calls_, input->node(), &Call::node);
      if (giver == calls_.end()) continue;
      const std::size_t joined = giver->part;
      for (Call& call : calls_) {
        if (call.part == joined) call.part = own;
      }
    }
  }

  // In the order of their last calls. Inputs are numbered first.
  bool read_parts() {
    for (std::size_t part = 0; part < calls_.size(); ++part) {
      if (calls_[part].part != part) continue;
      PartReader& reader = parts_.emplace_back();
      const auto each_call = [&](const auto& visit) {
        return std::ranges::all_of(
            calls_, [&](const Call& call) { return call.part != part || visit(call); });
      };
      const bool is_read = each_call([&](const Call& call) {
                             for (std::size_t i = 0; i < call.fusible.function->operands; ++i) {
                               const Value* const value =
                                   call.node->input(call.fusible.function->order[i]);
                               const auto input = inputs_.find(value);
                               if (input != inputs_.end()) reader.add_input(value, input->second);
                             }
                             return true;
                           }) &&
                           each_call([&](const Call& call) { return reader.add_step(call); });
      if (!is_read) return false;
    }
    return true;
  }

  // What a tail joins of the group's inputs is a part of its own.
  bool read_tail() {
    if (!tail_) return true;
    if (tail_->tensors.size() > FusedTail::kMostOperands) return false;
    program.tail = FusedTail{
        tail_->op, *tail_->tail, tail_->arguments, tail_->dims, tail_->keepdim, tail_->dim, {}};
    for (const Value* const tensor : tail_->tensors) {
      std::size_t part = part_of(tensor);
      if (part == parts_.size()) {
        const auto input = inputs_.find(tensor);
        if (input == inputs_.end()) return false;
        parts_.emplace_back().add_input(tensor, input->second);
      }
      const std::uint16_t index = parts_[part].append_to(parts_[part].part.operands, tensor);
      program.tail->operands.push_back({std::uint16_t(part), index});
    }
    return true;
  }
  // The part that gives a value; their number if none does.
  std::size_t part_of(const Value* value) const {
    std::size_t part = 0;
    while (part < parts_.size() && !parts_[part].is_given(value)) ++part;
    return part;
  }

  bool read_outputs() {
    std::vector<const Value*> seen;
    for (const Value* const output : graph_.outputs()) {
      if (std::ranges::count(seen, output) > 0) return false;
      seen.push_back(output);
      if (tail_node_ != nullptr && output->node() == tail_node_) {
        program.outputs.push_back({0, 0, true});
        continue;
      }
      const std::size_t part = part_of(output);
      const bool is_step =
          part < parts_.size() && std::ranges::count(calls_, output->node(), &Call::node) > 0;
      if (!is_step) return false;
      const std::uint16_t index = parts_[part].append_to(parts_[part].part.outputs, output);
      program.outputs.push_back({std::uint16_t(part), index, false});
    }
    return !program.outputs.empty();
  }

  const Graph& graph_;
  std::unordered_map<const Value*, std::uint16_t> inputs_;
  std::vector<Call> calls_;
  std::vector<PartReader> parts_;
  std::optional<detail::FusibleTail> tail_;
  const Node* tail_node_ = nullptr;
};

}  // namespace

bool FusedPart::is_output(std::uint16_t value) const {
  return std::ranges::count(outputs, value) > 0;
}

std::optional<FusedProgram> make_fused_program(const Graph& graph) {
  ProgramReader reader(graph);
  if (!reader.read()) return std::nullopt;
  return std::move(reader.program);
}

}  // namespace opyard::jit
