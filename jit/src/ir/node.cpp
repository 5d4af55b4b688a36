// ir/node.cpp: nodes: creation, order, removal.
#include "opyard/jit/node.h"

#include <fmt/format.h>

#include <limits>

#include "opyard/jit/graph.h"

namespace opyard::jit {
namespace {

// See [Order].
constexpr std::int64_t kOrderGap = std::int64_t{1} << 40;

std::size_t depth_of(const Node* node) { return node->owning_block()->depth(); }

}  // namespace

Node::Node(Graph* graph, Symbol kind, int stage)
    : graph_(graph), index_(graph->nodes_made()), kind_(kind), stage_(stage) {}
Node::~Node() = default;

void Node::check_alive() const {
  OPYARD_CHECK(!destroyed_, BadValue,
               fmt::format("this '{}' node was destroyed", kind_.qual_string()));
}

void Node::check_value(const Value* value) const {
  check_alive();
  OPYARD_CHECK(value != nullptr, BadValue, "a node takes a value, not null");
  OPYARD_CHECK(!value->is_erased(), BadValue, fmt::format("value %{} was erased", value->unique()));
  OPYARD_CHECK(&value->graph() == graph_, BadValue,
               fmt::format("value %{} belongs to another graph than the '{}' node",
                           value->printed_name(), kind_.qual_string()));
}

void Node::check_index(std::size_t index, std::size_t count, const char* what) const {
  check_alive();
  if (index < count) return;
  fail(ErrorKind::BadIndex, fmt::format("a '{}' node with {} {} has none at position {}",
                                        kind_.qual_string(), count, what, index));
}

bool Node::is_graph_return() const noexcept { return graph_->block_->return_ == this; }

void Node::set_overload(Symbol overload) noexcept {
  overload_ = overload;
  graph_->note_change();
}

Node* Node::set_stage(int stage) {
  check_alive();
  OPYARD_CHECK(stage >= 0, BadValue, fmt::format("stage {} is negative", stage));
  if (stage > graph_->stage_) graph_->stage_ = stage;
  stage_ = stage;
  graph_->note_change();
  for (Block* const block : blocks_) {
    block->param_->stage_ = block->return_->stage_ = stage;
    for (Node* const node : block->nodes()) node->set_stage(stage);
  }
  return this;
}

void Node::set_source_range(SourceRange range) { source_ = std::move(range); }
void Node::set_scope(std::string scope) { scope_ = std::move(scope); }
void Node::set_payload(CountedPtr<Counted> payload) {
  payload_ = std::move(payload);
  graph_->note_change();
}

Node* Node::owning_node() const noexcept {
  return block_ == nullptr ? nullptr : block_->owning_node();
}

bool Node::is_before(const Node* other) const {
  OPYARD_CHECK(graph_ == other->graph_ && block_ != nullptr && other->block_ != nullptr, BadValue,
               "only nodes that are in blocks of one graph have an order");
  const Node* left = this;
  const Node* right = other;
  if (left->block_ != right->block_) {
    std::size_t left_depth = depth_of(left);
    std::size_t right_depth = depth_of(right);
    const bool left_is_deeper = left_depth > right_depth;
    for (; left_depth > right_depth; --left_depth) left = left->owning_node();
    for (; right_depth > left_depth; --right_depth) right = right->owning_node();
    // One is inside the other: the outer one is first.
    if (left == right) return !left_is_deeper && this != other;
    while (left->block_ != right->block_) {
      const Node* const outer_left = left->owning_node();
      const Node* const outer_right = right->owning_node();
      if (outer_left == outer_right) {  // in two blocks of one node
        for (const Block* const block : outer_left->blocks()) {
          if (block == left->block_) return true;
          if (block == right->block_) return false;
        }
      }
      left = outer_left;
      right = outer_right;
    }
  }
  return left->position_ < right->position_;
}

bool Node::is_after(const Node* other) const { return this != other && !is_before(other); }

void Block::reindex() noexcept {
  std::int64_t position = 0;
  for (Node* const node : nodes()) node->position_ = position += kOrderGap;
}

// Called with the neighbours set. The sentinels keep the least and the greatest position.
void Node::take_position() noexcept {
  const bool first = prev_ == block_->param_;
  const bool last = next_ == block_->return_;
  if (first && last) {
    position_ = 0;
  } else if (last && prev_->position_ < kLastPosition - kOrderGap) {
    position_ = prev_->position_ + kOrderGap;
  } else if (first && next_->position_ > kFirstPosition + kOrderGap) {
    position_ = next_->position_ - kOrderGap;
  } else if (!first && !last) {
    const auto gap = std::uint64_t(next_->position_) - std::uint64_t(prev_->position_);
    position_ = prev_->position_ + std::int64_t(gap / 2);
    if (gap < 2) block_->reindex();
  } else {
    block_->reindex();
  }
}

void Node::link_between(Node* before, Node* after) {
  prev_ = before;
  next_ = after;
  before->next_ = this;
  after->prev_ = this;
  block_ = before->block_;
  take_position();
  graph_->note_change();
}

void Node::unlink() noexcept {
  prev_->next_ = next_;
  next_->prev_ = prev_;
  prev_ = next_ = nullptr;
  block_ = nullptr;
  graph_->note_change();
}

namespace {

void check_place(const Node* node, const Node* other, bool is_placed) {
  OPYARD_CHECK(!node->is_destroyed() && !other->is_destroyed(), BadValue,
               "a destroyed node has no place in a graph");
  OPYARD_CHECK(&node->graph() == &other->graph(), BadValue, "the nodes belong to different graphs");
  OPYARD_CHECK(other->owning_block() != nullptr, BadValue,
               "the node that should be the neighbour is in no block");
  OPYARD_CHECK((node->owning_block() != nullptr) == is_placed, BadValue,
               is_placed ? "the node is in no block yet; insert it"
                         : "the node is in a block already; move it");
  OPYARD_CHECK(node->kind() != prim::Param && node->kind() != prim::Return, BadValue,
               "the sentinels of a block have their place");
  for (const Node* outer = other; outer != nullptr; outer = outer->owning_node()) {
    OPYARD_CHECK(outer != node || outer == other, BadValue,
                 "a node cannot be put into a block of its own");
  }
}

void check_not_outside(const Node* other, Symbol sentinel, const char* side) {
  OPYARD_CHECK(other->kind() != sentinel, BadValue,
               fmt::format("no node is {} the '{}' of a block", side, sentinel.qual_string()));
}

}  // namespace

Node* Node::insert_before(Node* other) {
  check_place(this, other, false);
  check_not_outside(other, prim::Param, "before");
  link_between(other->prev_, other);
  return this;
}

Node* Node::insert_after(Node* other) {
  check_place(this, other, false);
  check_not_outside(other, prim::Return, "behind");
  link_between(other, other->next_);
  return this;
}

Node* Node::move_before(Node* other) {
  check_place(this, other, true);
  check_not_outside(other, prim::Param, "before");
  if (this == other) return this;
  unlink();
  link_between(other->prev_, other);
  return this;
}

Node* Node::move_after(Node* other) {
  check_place(this, other, true);
  check_not_outside(other, prim::Return, "behind");
  if (this == other) return this;
  unlink();
  link_between(other, other->next_);
  return this;
}

void Node::destroy() {
  check_alive();
  OPYARD_CHECK(kind_ != prim::Param && kind_ != prim::Return, BadValue,
               "the sentinels of a block are destroyed with it");
  for (const Value* const output : outputs_) {
    OPYARD_CHECK(!output->has_uses(), BadValue,
                 fmt::format("the '{}' node cannot be destroyed: %{} is used by a '{}' node",
                             kind_.qual_string(), output->printed_name(),
                             output->uses().front().user->kind().qual_string()));
  }
  if (graph_->insert_point_ == this) graph_->insert_point_ = next_;
  discard();
}

// Destroys without asking, blocks first, from their last node to their first.
void Node::discard() noexcept {
  remove_all_inputs();
  for (Block* const block : blocks_) {
    block->return_->remove_all_inputs();
    while (block->return_->prev_ != block->param_) block->return_->prev_->discard();
    block->return_->destroyed_ = block->param_->destroyed_ = true;
    for (Value* const input : block->param_->outputs_) graph_->forget(input);
  }
  for (Value* const output : outputs_) graph_->forget(output);
  if (block_ != nullptr) unlink();
  blocks_.clear();
  outputs_.clear();
  attributes_.clear();
  payload_.reset();
  destroyed_ = true;
  graph_->note_change();
}

}  // namespace opyard::jit
