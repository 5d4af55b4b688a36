// ir/node_edges.cpp: a node's inputs, outputs and blocks.
//
// Every function allocates before it changes anything, so that one that throws has changed nothing.
#include <fmt/format.h>

#include <algorithm>

#include "ir/edge_list.h"
#include "opyard/jit/graph.h"

namespace opyard::jit {
namespace {

// A block is read, printed and compiled by recursion.
constexpr std::size_t kMostBlockNesting = 512;

void check_permutation(std::span<const std::size_t> order, std::size_t count) {
  std::vector<bool> seen(count, false);
  bool right = order.size() == count;
  for (std::size_t i = 0; right && i < count; ++i) {
    right = order[i] < count && !seen[order[i]];
    if (right) seen[order[i]] = true;
  }
  OPYARD_CHECK(right, BadValue,
               fmt::format("an order of {} positions has each of 0 to {} once", count,
                           count == 0 ? 0 : count - 1));
}

template <typename List>
List permuted(const List& items, std::span<const std::size_t> order) {
  check_permutation(order, items.size());
  List fresh;
  fresh.reserve(items.size());
  for (const std::size_t from : order) fresh.push_back(items[from]);
  return fresh;
}

[[noreturn]] OPYARD_COLD void refuse_used(const Node& node, const Value& value) {
  fail(ErrorKind::BadValue,
       fmt::format("%{} of the '{}' node cannot be erased: a '{}' node uses it",
                   value.printed_name(), node.kind().qual_string(),
                   value.uses().front().user->kind().qual_string()));
}

// Whether `node` is inside `block`, at any depth.
bool is_inside(const Node* node, const Block* block) {
  for (; node != nullptr; node = node->owning_node()) {
    if (node->owning_block() == block) return true;
  }
  return false;
}

void check_unused_outside(const Node* node, const Block* block);

void check_unused_outside(const Value* value, const Block* block) {
  for (const Use& use : value->uses()) {
    OPYARD_CHECK(is_inside(use.user, block), BadValue,
                 fmt::format("the block cannot be erased: %{} is used outside by a '{}' node",
                             value->printed_name(), use.user->kind().qual_string()));
  }
}

void check_unused_outside(const Node* node, const Block* block) {
  for (const Value* const output : node->outputs()) check_unused_outside(output, block);
  for (const Block* const inner : node->blocks()) {
    for (const Node* const below : inner->nodes()) check_unused_outside(below, block);
  }
}

}  // namespace

Value* Node::input(std::size_t index) const {
  check_index(index, inputs_.size(), "inputs");
  return inputs_[index];
}
Value* Node::output(std::size_t index) const {
  check_index(index, outputs_.size(), "outputs");
  return outputs_[index];
}
Value* Node::input() const {
  OPYARD_CHECK(
      inputs_.size() == 1, BadValue,
      fmt::format("a '{}' node has {} inputs; say which", kind_.qual_string(), inputs_.size()));
  return inputs_[0];
}
Value* Node::output() const {
  OPYARD_CHECK(outputs_.size() == 1, BadValue,
               destroyed_ ? fmt::format("the '{}' node was destroyed, and has no output",
                                        kind_.qual_string())
                          : fmt::format("a '{}' node has {} outputs; say which",
                                        kind_.qual_string(), outputs_.size()));
  return outputs_[0];
}
bool Node::has_uses() const noexcept {
  return std::any_of(outputs_.begin(), outputs_.end(),
                     [](const Value* output) { return output->has_uses(); });
}

Value* Node::add_input(Value* value) { return insert_input(inputs_.size(), value); }

Value* Node::insert_input(std::size_t index, Value* value) {
  check_value(value);
  check_index(index, inputs_.size() + 1, "places for inputs");
  value->uses_.reserve(value->uses_.size() + std::size_t{1});
  if (is_graph_return()) {
    graph_->output_stages_.insert(graph_->output_stages_.begin() + std::ptrdiff_t(index),
                                  graph_->stage_);
  }
  try {
    detail::insert_at(inputs_, index, value);
  } catch (...) {
    if (is_graph_return()) {
      graph_->output_stages_.erase(graph_->output_stages_.begin() + std::ptrdiff_t(index));
    }
    throw;
  }
  // From the last: a value that is an input twice then never has the same use twice.
  for (std::size_t i = inputs_.size() - 1; i > index; --i) {
    inputs_[i]->move_use({this, i - 1}, i);
  }
  value->uses_.push_back({this, index});
  graph_->note_change();
  return value;
}

Value* Node::replace_input(std::size_t index, Value* value) {
  check_index(index, inputs_.size(), "inputs");
  check_value(value);
  Value* const former = inputs_[index];
  value->uses_.push_back({this, index});
  former->drop_use({this, index});
  inputs_[index] = value;
  graph_->note_change();
  return former;
}

void Node::replace_input_with(Value* from, Value* to) {
  check_value(from);
  check_value(to);
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i] == from) replace_input(i, to);
  }
}

void Node::remove_input(std::size_t index) {
  check_index(index, inputs_.size(), "inputs");
  inputs_[index]->drop_use({this, index});
  detail::erase_at(inputs_, index);
  for (std::size_t i = index; i < inputs_.size(); ++i) inputs_[i]->move_use({this, i + 1}, i);
  if (is_graph_return()) {
    graph_->output_stages_.erase(graph_->output_stages_.begin() + std::ptrdiff_t(index));
  }
  graph_->note_change();
}

void Node::remove_all_inputs() noexcept {
  for (std::size_t i = inputs_.size(); i-- > 0;) inputs_[i]->drop_use({this, i});
  inputs_.clear();
  if (is_graph_return()) graph_->output_stages_.clear();
  graph_->note_change();
}

void Node::permute_inputs(std::span<const std::size_t> order) {
  check_alive();
  auto fresh = permuted(inputs_, order);
  std::vector<int> stages;
  if (is_graph_return()) stages = permuted(graph_->output_stages_, order);
  // In two steps through offsets that no use has, so that equal values do not meet.
  const std::size_t count = inputs_.size();
  for (std::size_t i = 0; i < count; ++i) fresh[i]->move_use({this, order[i]}, count + i);
  for (std::size_t i = 0; i < count; ++i) fresh[i]->move_use({this, count + i}, i);
  inputs_ = std::move(fresh);
  if (is_graph_return()) graph_->output_stages_ = std::move(stages);
  graph_->note_change();
}

Value* Node::make_output(std::size_t index, TypePtr type, int stage) {
  check_index(index, outputs_.size() + 1, "places for outputs");
  if (type == nullptr) type = base_type(TypeKind::Tensor);
  outputs_.reserve(outputs_.size() + std::size_t{1});
  Value* const value = graph_->values_.make(this, index, graph_->values_made(),
                                            graph_->next_unique_, std::move(type), stage);
  ++graph_->next_unique_;
  detail::insert_at(outputs_, index, value);
  for (std::size_t i = index + 1; i < outputs_.size(); ++i) outputs_[i]->offset_ = i;
  graph_->note_change();
  return value;
}

Value* Node::add_output(TypePtr type) { return insert_output(outputs_.size(), std::move(type)); }
Value* Node::insert_output(std::size_t index, TypePtr type) {
  return make_output(index, std::move(type), graph_->stage_);
}

void Node::erase_output(std::size_t index) {
  check_index(index, outputs_.size(), "outputs");
  Value* const value = outputs_[index];
  if (value->has_uses()) refuse_used(*this, *value);
  graph_->forget(value);
  detail::erase_at(outputs_, index);
  for (std::size_t i = index; i < outputs_.size(); ++i) outputs_[i]->offset_ = i;
  graph_->note_change();
}

void Node::permute_outputs(std::span<const std::size_t> order) {
  check_alive();
  outputs_ = permuted(outputs_, order);
  for (std::size_t i = 0; i < outputs_.size(); ++i) outputs_[i]->offset_ = i;
  graph_->note_change();
}

void Node::replace_all_uses_with(Node* other) {
  check_alive();
  OPYARD_CHECK(other->outputs().size() == outputs_.size(), BadValue,
               fmt::format("a node with {} outputs cannot take the place of one with {}",
                           other->outputs().size(), outputs_.size()));
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    outputs_[i]->replace_all_uses_with(other->outputs_[i]);
  }
}

Block* Node::add_block() {
  check_alive();
  const std::size_t depth = block_ == nullptr ? 0 : block_->depth();
  OPYARD_CHECK(depth < kMostBlockNesting, BadValue,
               fmt::format("blocks are nested more than {} deep", kMostBlockNesting));
  if (blocks_.size() == blocks_.capacity()) blocks_.reserve(blocks_.size() * 2 + 1);
  blocks_.push_back(graph_->make_block(this));
  graph_->note_change();
  return blocks_.back();
}

void Node::erase_block(std::size_t index) {
  check_index(index, blocks_.size(), "blocks");
  Block* const block = blocks_[index];
  check_unused_outside(block->param_, block);
  for (const Node* const node : block->nodes()) check_unused_outside(node, block);
  block->return_->remove_all_inputs();
  while (block->return_->prev_ != block->param_) block->return_->prev_->discard();
  for (Value* const input : block->param_->outputs_) graph_->forget(input);
  block->param_->destroyed_ = block->return_->destroyed_ = true;
  blocks_.erase(blocks_.begin() + std::ptrdiff_t(index));
  graph_->note_change();
}

}  // namespace opyard::jit
