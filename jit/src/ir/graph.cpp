// ir/graph.cpp: creating nodes and values, and naming them.
#include "opyard/jit/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "ir/count_nodes.h"

namespace opyard::jit {
Graph::Graph() {
  block_ = make_block(nullptr);
  insert_point_ = block_->return_;
}
Graph::~Graph() = default;

Block* Graph::make_block(Node* owner) {
  Block* const block = blocks_.make(this, owner);
  const int stage = owner == nullptr ? stage_ : owner->stage_;
  block->param_ = nodes_.make(this, prim::Param, stage);
  block->return_ = nodes_.make(this, prim::Return, stage);
  block->param_->block_ = block->return_->block_ = block;
  block->param_->position_ = Node::kFirstPosition;
  block->return_->position_ = Node::kLastPosition;
  block->param_->next_ = block->return_;
  block->return_->prev_ = block->param_;
  return block;
}

int Graph::advance_stage() {
  note_change();
  return ++stage_;
}

void Graph::set_stage(int stage) {
  int least = 0;
  for (const Node* const node : nodes()) least = std::max(least, node->stage());
  for (const Value* const input : inputs()) least = std::max(least, input->stage());
  for (const int output : output_stages_) least = std::max(least, output);
  OPYARD_CHECK(stage >= least, BadValue,
               fmt::format("the last stage cannot be {}: stage {} is in use", stage, least));
  stage_ = stage;
  note_change();
}

int Graph::output_stage(std::size_t index) const {
  return_node()->check_index(index, output_stages_.size(), "outputs");
  return output_stages_[index];
}

void Graph::set_output_stage(std::size_t index, int stage) {
  return_node()->check_index(index, output_stages_.size(), "outputs");
  OPYARD_CHECK(stage >= 0, BadValue, fmt::format("stage {} is negative", stage));
  if (stage > stage_) stage_ = stage;
  output_stages_[index] = stage;
  note_change();
}

Value* Graph::add_input(std::string_view name, TypePtr type) {
  return block_->add_input(name, std::move(type));
}
Value* Graph::insert_input(std::size_t index, std::string_view name, TypePtr type) {
  return block_->insert_input(index, name, std::move(type));
}

Node* Graph::create(Symbol kind, std::span<Value* const> inputs, std::size_t outputs) {
  if (outputs > kMostOutputs) {
    fail(ErrorKind::BadValue, fmt::format("{} cannot have {} outputs; a node has at most {}",
                                          kind.qual_string(), outputs, kMostOutputs));
  }
  OPYARD_CHECK(kind.defined(), BadValue, "a node has a kind");
  OPYARD_CHECK(kind != prim::Param && kind != prim::Return, BadValue,
               "the sentinels of a block are made with it");
  Node* const node = nodes_.make(this, kind, stage_);
  try {
    node->inputs_.reserve(inputs.size());
    node->outputs_.reserve(outputs);
    for (Value* const input : inputs) node->add_input(input);
    for (std::size_t i = 0; i < outputs; ++i) node->add_output();
  } catch (...) {
    node->discard();
    throw;
  }
  return node;
}

void Graph::restrict_to(std::vector<std::string> operators) {
  if (restricted_) {
    std::erase_if(operators, [&](const std::string& name) {
      return std::find(allowed_.begin(), allowed_.end(), name) == allowed_.end();
    });
  }
  allowed_ = std::move(operators);
  restricted_ = true;
  note_change();
}

bool Graph::allows(std::string_view name, std::string_view overload) const {
  if (!restricted_) return true;
  const std::string full = fmt::format("{}.{}", name, overload);
  return std::any_of(allowed_.begin(), allowed_.end(), [&](const std::string& allowed) {
    return allowed == name || allowed == full;
  });
}

void Graph::set_insert_point(Node* node) {
  node->check_alive();
  OPYARD_CHECK(node->graph_ == this && node->block_ != nullptr, BadValue,
               "the insert point is a node in a block of this graph");
  OPYARD_CHECK(node->kind() != prim::Param, BadValue,
               "nothing is inserted before the 'prim::Param' of a block");
  insert_point_ = node;
}

Node* Graph::insert_node(Node* node) { return node->insert_before(insert_point_); }

Value* Graph::insert_constant(const opyard::Value& value, TypePtr type) {
  return insert_node(create_constant(value, std::move(type)))->output();
}

Value* Graph::find_value(std::string_view name) const {
  Value* found = names_.find(name);
  if (found != nullptr) return found;
  std::uint64_t number = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
  if (read.ec != std::errc() || read.ptr != name.data() + name.size()) return nullptr;
  if (name != std::to_string(number)) return nullptr;
  values_.for_each([&](Value* value) {
    const bool prints_number = !value->is_erased() && !value->has_debug_name();
    if (prints_number && value->unique() == number) found = value;
  });
  return found;
}

std::size_t Graph::node_count() const noexcept { return count_nodes(block_); }

void Graph::renumber(std::span<const Numbered> values) {
  std::uint64_t next = 0;
  constexpr std::uint64_t kNone = ~std::uint64_t{0};
  values_.for_each([](Value* value) { value->unique_ = kNone; });
  for (const auto& [number, value] : values) {
    value->unique_ = number;
    next = std::max(next, number + 1);
  }
  values_.for_each([&](Value* value) {
    if (value->unique_ == kNone) value->unique_ = next++;
  });
  next_unique_ = next;
  note_change();
}

// The next free number behind a dot: "x" becomes "x.1".
std::string Graph::other_name(std::string_view name) {
  std::string base(name);
  const std::size_t dot = base.rfind('.');
  if (dot != std::string::npos && dot + 1 < base.size() && dot > 0 &&
      base.find_first_not_of("0123456789", dot + 1) == std::string::npos) {
    base.resize(dot);
  }
  std::uint64_t& suffix = suffixes_[base];
  std::string other;
  do {
    other = fmt::format("{}.{}", base, ++suffix);
  } while (names_.find(other) != nullptr);
  return other;
}

// The former holder of the name gets another one. All that allocates comes first.
void Graph::rename(Value* value, std::string_view name) {
  if (value->name_ == name) return;
  Value* const former = names_.find(name);
  std::string other = former == nullptr ? std::string() : other_name(name);
  std::string fresh(name);
  names_.reserve(names_.size() + 2);
  names_.erase(value->name_);
  names_.erase(name);
  if (former != nullptr) {
    former->name_ = std::move(other);
    names_.set(former->name_, former);
  }
  value->name_ = std::move(fresh);
  if (!name.empty()) names_.set(value->name_, value);
  note_change();
}

void Graph::forget(Value* value) noexcept {
  if (value->has_debug_name()) names_.erase(value->name_);
  value->name_.clear();
  value->node_ = nullptr;
  value->uses_.clear();
}

}  // namespace opyard::jit
