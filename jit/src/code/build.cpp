// code/build.cpp: compiler from graphs to instructions.
//
// [Delegation] A value that dies at a node with blocks, because it is used inside, is from then on
// treated as if each branch had defined it: dies_ says where in the branch. See code.h, [Last use].
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "code/builder.h"

namespace opyard::jit {
namespace {

bool may_own(const Type& type) {
  switch (type.kind()) {
    case TypeKind::Int:
    case TypeKind::Float:
    case TypeKind::Bool:
    case TypeKind::None:
    case TypeKind::Device:
    case TypeKind::ScalarType:
    case TypeKind::Layout:
    case TypeKind::MemoryFormat:
      return false;
    default:
      return true;
  }
}

}  // namespace

void Builder::build() {
  code_.register_of = ValueTable<std::uint32_t>(graph_.values_made());
  auto next = graph_.nodes().begin();
  std::size_t input = 0;
  std::size_t output = 0;
  for (int stage = 0; stage <= graph_.stage(); ++stage) {
    stage_ = std::uint32_t(stage);
    code_.stages.emplace_back();
    code_.stages.back().begin = here();
    // See H22 in the head of interpreter_state.h: an input of a later stage ends the stage's
    // inputs.
    for (; input < graph_.inputs().size() && graph_.inputs()[input]->stage() <= stage; ++input) {
      take_input(graph_.inputs()[input]);
    }
    for (; next != graph_.nodes().end() && (*next)->stage() <= stage; ++next) emit(*next);
    const std::size_t first = output;
    while (output < graph_.outputs().size() && lifetimes_.output_stage(output) <= stage) ++output;
    give_outputs(first, output);
    emit(Opcode::EndStage, nullptr);
  }
}

std::uint32_t Builder::new_register(const Value* value, const Type& type) {
  OPYARD_CHECK(code_.registers.size() < kNoRegister, BadGraph,
               "the graph has more values than a code has registers");
  code_.registers.push_back({value, &type, may_own(type), here(), {}});
  return std::uint32_t(code_.registers.size() - 1);
}

std::uint32_t Builder::new_constant(opyard::Value value) {
  code_.constants.push_back(std::move(value));
  return std::uint32_t(code_.constants.size() - 1) | kConstant;
}

std::uint32_t Builder::define(const Value* value, const Block* block, bool always) {
  note_death(value, lifetimes_.last_use(value, block));
  if (!value->has_uses() && !always) return kNoRegister;
  const std::uint32_t fresh = new_register(value);
  code_.register_of[value] = fresh;
  return fresh;
}

void Builder::note_death(const Value* value, const LastUse& last) {
  dies_[value] = last;
  if (last.node != nullptr && last.nested) dying_[last.node].push_back(value);
}

std::uint32_t Builder::operand_of(const Value* value) const {
  const std::uint32_t* const constant = constants_.find(value);
  return constant != nullptr ? *constant : *code_.register_of.find(value);
}

std::uint32_t Builder::use(const Node* node, std::size_t index) {
  const Value* const value = node->inputs()[index];
  const std::uint32_t operand = operand_of(value);
  if ((operand & kConstant) != 0 || !dies_at(value, node, index, node->inputs().size())) {
    return operand;
  }
  return operand | kLastUse;
}

bool Builder::dies_at(const Value* value, const Node* node, std::size_t index,
                      std::size_t end) const {
  const LastUse* const found = dies_.find(value);
  if (found == nullptr || found->node != node || found->nested) return false;
  const auto inputs = node->inputs();
  return std::find(inputs.begin() + std::ptrdiff_t(index) + 1, inputs.begin() + std::ptrdiff_t(end),
                   value) == inputs.begin() + std::ptrdiff_t(end);
}

void Builder::note_last_use(std::uint32_t operand, std::uint32_t at) {
  if ((operand & kLastUse) != 0) code_.registers[operand & kIndex].deaths.push_back(at);
}

std::uint32_t Builder::emit(Opcode opcode, const Node* node, std::uint32_t a, std::uint32_t b,
                            std::uint32_t c, std::uint32_t d) {
  const std::uint32_t at = here();
  code_.instructions.push_back({function_of(opcode), nullptr, a, b, c, d});
  code_.origins.push_back({node, opcode, stage_});
  return at;
}

void Builder::drop(std::uint32_t reg, const Node* node) {
  if (!code_.registers[reg].owns) return;
  code_.registers[reg].deaths.push_back(emit(Opcode::Drop, node, reg));
}

void Builder::transfer(std::uint32_t target, std::uint32_t operand, const Node* node) {
  const bool moves = (operand & kLastUse) != 0;
  note_last_use(operand, emit(moves ? Opcode::Move : Opcode::Copy, node, target, operand));
}

void Builder::take_input(const Value* value) {
  const TensorShape* const shape = find_shape(*value->type());
  code_.stages.back().inputs.push_back({define(value, graph_.block()),
                                        accepted_kinds(*value->type()), value,
                                        shape != nullptr && shape->dtype ? shape : nullptr});
}

void Builder::give_outputs(std::size_t first, std::size_t end) {
  const Node* const ret = graph_.return_node();
  for (std::size_t i = first; i < end; ++i) {
    const Value* const value = ret->inputs()[i];
    std::uint32_t operand = operand_of(value);
    if ((operand & kConstant) == 0 && dies_.find(value)->output_stage == int(stage_) &&
        dies_at(value, ret, i, end)) {
      operand |= kLastUse;
      note_last_use(operand, ~stage_);
    }
    code_.stages.back().outputs.push_back(operand);
  }
}

void build_linted(CodeData& data, Subcodes& subcodes) {
  const Callees callees = check_types(*data.graph);
  Builder(data, callees, subcodes).build();
  data.version = data.graph->version();
  data.leaves_nothing =
      std::none_of(data.registers.begin(), data.registers.end(),
                   [](const RegisterInfo& info) { return info.owns && info.deaths.empty(); });
  data.runs_at_once = data.stages.size() == 1 && !data.graph->is_restricted();
}

void build(CodeData& data, Subcodes& subcodes) {
  lint(*data.graph);
  build_linted(data, subcodes);
}

}  // namespace opyard::jit
