// code/build_blocks.cpp: code generation for branches and loops. See [Delegation] in build.cpp.
#include <algorithm>

#include "code/builder.h"

namespace opyard::jit {

void Builder::emit_block(const Block* block) {
  for (const Node* const node : block->nodes()) emit(node);
}

std::vector<const Value*> Builder::take_dying(const Node* node) {
  const auto found = dying_.find(node);
  if (found == dying_.end()) return {};
  std::vector<const Value*> values = std::move(found->second);
  dying_.erase(found);
  return values;
}

void Builder::emit_if(const Node* node) {
  const std::vector<const Value*> dying = take_dying(node);
  const std::uint32_t condition = use(node, 0) & ~kLastUse;
  const std::uint32_t jump = emit(Opcode::JumpUnless, node, 0, condition);
  std::vector<std::uint32_t> targets;
  for (const Value* const output : node->outputs()) {
    targets.push_back(define(output, node->owning_block()));
  }
  emit_branch(node, 0, dying, targets);
  const std::uint32_t skip = emit(Opcode::Jump, node);
  code_.instructions[jump].d = here();
  emit_branch(node, 1, dying, targets);
  code_.instructions[skip].d = here();
}

void Builder::emit_branch(const Node* node, std::size_t which,
                          const std::vector<const Value*>& dying,
                          const std::vector<std::uint32_t>& targets) {
  const Block* const block = node->blocks()[which];
  // See [Delegation].
  for (const Value* const value : dying) {
    const LastUse last = lifetimes_.last_use(value, block);
    if (last.node == nullptr && (operand_of(value) & kConstant) == 0) drop(operand_of(value), node);
    note_death(value, last);
  }
  emit_block(block);
  const Node* const ret = block->return_node();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::uint32_t operand = use(ret, i);
    if (targets[i] != kNoRegister) {
      transfer(targets[i], operand, node);
    } else if ((operand & kLastUse) != 0) {
      drop(operand & kIndex, node);
    }
  }
}

void Builder::emit_loop(const Node* node) {
  const std::vector<const Value*> dying = take_dying(node);
  const Block* const body = node->blocks().front();
  const std::uint32_t limit = new_register(nullptr, *base_type(TypeKind::Int));
  const std::uint32_t condition = new_register(nullptr, *base_type(TypeKind::Bool));
  const std::uint32_t trip = new_register(body->inputs()[0], *base_type(TypeKind::Int));
  code_.register_of[body->inputs()[0]] = trip;
  transfer(limit, use(node, 0), node);
  transfer(condition, use(node, 1), node);
  std::vector<std::uint32_t> carried;
  for (std::size_t i = 0; i < node->outputs().size(); ++i) {
    const Value* const inner = body->inputs()[i + 1];
    carried.push_back(new_register(inner));
    code_.register_of[inner] = carried.back();
    transfer(carried.back(), use(node, i + 2), node);
  }
  emit(Opcode::SetInt, node, trip, std::uint32_t(-1));
  const std::uint32_t next = emit(Opcode::NextTrip, node, trip, limit, condition);
  for (std::size_t i = 0; i < carried.size(); ++i) {
    const Value* const inner = body->inputs()[i + 1];
    note_death(inner, lifetimes_.last_use(inner, body));
    if (!inner->has_uses()) drop(carried[i], node);
  }
  emit_block(body);
  emit_next_trip(node, condition, carried);
  const std::uint32_t back = emit(Opcode::Jump, node, check_share(next), 0, 0, next);
  code_.instructions[back].function = run_jump_back;
  code_.instructions[next].d = here();
  for (const Value* const value : dying) {
    if ((operand_of(value) & kConstant) == 0) drop(operand_of(value), node);
  }
  for (std::size_t i = 0; i < carried.size(); ++i) {
    const Value* const output = node->outputs()[i];
    code_.register_of[output] = carried[i];
    note_death(output, lifetimes_.last_use(output, node->owning_block()));
    if (!output->has_uses()) drop(carried[i], node);
  }
}

std::uint32_t Builder::check_share(std::uint32_t head) const {
  for (std::uint32_t at = head; at < here(); ++at) {
    switch (code_.origins[at].opcode) {
      case Opcode::Unary:
      case Opcode::Binary:
      case Opcode::Move:
      case Opcode::Copy:
      case Opcode::Drop:
      case Opcode::SetInt:
      case Opcode::Jump:
      case Opcode::JumpUnless:
      case Opcode::NextTrip:
        break;
      default:
        return kUntilCheck;
    }
  }
  return 1;
}

void Builder::emit_next_trip(const Node* node, std::uint32_t condition,
                             const std::vector<std::uint32_t>& carried) {
  const Node* const ret = node->blocks().front()->return_node();
  std::vector<std::uint32_t> sources;
  bool crossing = false;
  for (std::size_t i = 0; i < carried.size(); ++i) {
    const std::uint32_t source = use(ret, i + 1);
    const auto written = carried.begin() + std::ptrdiff_t(i);
    crossing = crossing || std::find(carried.begin(), written, source & ~kLastUse) != written;
    sources.push_back(source);
  }
  transfer(condition, use(ret, 0) & ~kLastUse, node);
  if (crossing) {
    for (std::size_t i = 0; i < carried.size(); ++i) {
      const std::uint32_t between =
          new_register(nullptr, *node->blocks().front()->inputs()[i + 1]->type());
      transfer(between, sources[i], node);
      sources[i] = between | kLastUse;
    }
  }
  for (std::size_t i = 0; i < carried.size(); ++i) {
    if ((sources[i] & ~kLastUse) != carried[i]) transfer(carried[i], sources[i], node);
  }
}

}  // namespace opyard::jit
