// ir/block.cpp: blocks: inputs and outputs as edges of sentinel nodes.
#include "opyard/jit/block.h"

#include "opyard/jit/graph.h"

namespace opyard::jit {

std::size_t Block::depth() const noexcept {
  std::size_t depth = 0;
  const Block* block = this;
  for (; block != nullptr && block->owner_ != nullptr; ++depth) block = block->owner_->block_;
  return depth;
}

Value* Block::add_input(std::string_view name, TypePtr type) {
  return insert_input(inputs().size(), name, std::move(type));
}

Value* Block::insert_input(std::size_t index, std::string_view name, TypePtr type) {
  Value* const value = param_->make_output(index, std::move(type), graph_->stage_);
  try {
    if (!name.empty()) value->set_debug_name(name);
  } catch (...) {
    param_->erase_output(value->offset());
    throw;
  }
  return value;
}

void Block::erase_input(std::size_t index) { param_->erase_output(index); }
void Block::permute_inputs(std::span<const std::size_t> order) { param_->permute_outputs(order); }

std::size_t Block::register_output(Value* value) {
  return_->add_input(value);
  return outputs().size() - 1;
}
void Block::insert_output(std::size_t index, Value* value) { return_->insert_input(index, value); }
void Block::replace_output(std::size_t index, Value* value) {
  return_->replace_input(index, value);
}
void Block::erase_output(std::size_t index) { return_->remove_input(index); }
void Block::permute_outputs(std::span<const std::size_t> order) { return_->permute_inputs(order); }

Node* Block::append_node(Node* node) { return node->insert_before(return_); }
Node* Block::prepend_node(Node* node) { return node->insert_after(param_); }

}  // namespace opyard::jit
