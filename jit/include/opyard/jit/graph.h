// opyard/jit/graph.h: Graph: a program over values: inputs, nodes, outputs.
//
//   auto graph = make_graph();
//   Value* x = graph->add_input("x");
//   Node* mul = graph->append_node(graph->create(Symbol::from_qual_string("aten::mul"), {x, x}));
//   graph->register_output(mul->output());
//   print(*graph);                               jit/print.h
//   Code code(graph);                            jit/code.h
//
// [Stages] A graph can run in parts. stage() is the last one; what is added belongs to it, and
// advance_stage() begins the next. An output belongs to the stage in which it was registered. Nodes
// of blocks have the stage of the node around them.
//
// [Memory] Nodes, values and blocks live in the graph's pools until the graph dies, also those that
// were destroyed: so no pointer to one dangles. copy() makes a graph without them.
//
// version() changes with every change, so that who has derived something knows when it is old.
//
// Threads: as with Node.
//
// Depends on: jit/block.h, jit/name_table.h, jit/pool.h.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "opyard/jit/block.h"
#include "opyard/jit/name_table.h"
#include "opyard/jit/pool.h"

namespace opyard::jit {

inline constexpr std::size_t kMostOutputs = 65536;  // of one node

class OPYARD_API Graph final : public Counted {
 public:
  Graph();

  // The graph's own block.
  Block* block() const noexcept { return block_; }
  NodeList nodes() const noexcept { return block_->nodes(); }
  std::span<Value* const> inputs() const noexcept { return block_->inputs(); }
  std::span<Value* const> outputs() const noexcept { return block_->outputs(); }
  Node* param_node() const noexcept { return block_->param_node(); }
  Node* return_node() const noexcept { return block_->return_node(); }

  // See [Stages].
  int stage() const noexcept { return stage_; }
  int advance_stage();
  // Raises BadValue below a stage that is in use.
  void set_stage(int stage);
  int output_stage(std::size_t index) const;
  void set_output_stage(std::size_t index, int stage);

  // The block's functions of these names.
  Value* add_input(std::string_view name = {}, TypePtr type = {});
  Value* insert_input(std::size_t index, std::string_view name = {}, TypePtr type = {});
  void erase_input(std::size_t index) { block_->erase_input(index); }
  void permute_inputs(std::span<const std::size_t> order) { block_->permute_inputs(order); }
  std::size_t register_output(Value* value) { return block_->register_output(value); }
  void replace_output(std::size_t index, Value* value) { block_->replace_output(index, value); }
  void erase_output(std::size_t index) { block_->erase_output(index); }
  void permute_outputs(std::span<const std::size_t> order) { block_->permute_outputs(order); }
  Node* append_node(Node* node) { return block_->append_node(node); }
  Node* prepend_node(Node* node) { return block_->prepend_node(node); }

  // A node in no block, of the current stage. Its outputs are Tensors until they are told
  // otherwise. Raises BadValue for more than kMostOutputs.
  Node* create(Symbol kind, std::span<Value* const> inputs, std::size_t outputs = 1);
  Node* create(Symbol kind, std::initializer_list<Value*> inputs = {}, std::size_t outputs = 1) {
    return create(kind, std::span<Value* const>(inputs.begin(), inputs.size()), outputs);
  }
  // A prim::Constant with one output, of the type that the value has by itself unless one is given.
  // Raises BadArgument for a kind of value that no constant can be.
  Node* create_constant(const opyard::Value& value, TypePtr type = {});
  // A copy of a node, its blocks included, in no block. `map` says what each input becomes.
  using Mapping = std::function<Value*(Value*)>;
  Node* create_copy(const Node* node, const Mapping& map);

  // Where insert_node() and insert() put nodes: before this one; at first the graph's Return.
  Node* insert_point() const noexcept { return insert_point_; }
  void set_insert_point(Node* node);
  void set_insert_point(Block* block) { set_insert_point(block->return_node()); }
  Node* insert_node(Node* node);
  Value* insert_constant(const opyard::Value& value, TypePtr type = {});

  // From now on only these operators may be called, by full name with or without overload; built-in
  // functions on numbers, texts and lists always may, operations of other layers never. A code of
  // such a graph runs in a state with a budget only. Copies are restricted as well; nothing lifts
  // it.
  void restrict_to(std::vector<std::string> operators);
  bool is_restricted() const noexcept { return restricted_; }
  bool allows(std::string_view name, std::string_view overload) const;

  // Graphs that nodes hold are copied, too; those that several nodes share are shared again.
  GraphPtr copy() const;
  std::uint64_t version() const noexcept { return version_; }
  void note_change() noexcept { ++version_; }
  // The value that prints as this, or null: a debug name or a number, without the %.
  Value* find_value(std::string_view name) const;
  std::uint64_t next_unique() const noexcept { return next_unique_; }
  // What was ever made, the destroyed among them: the bounds of Node::index() and Value::index().
  std::size_t nodes_made() const noexcept { return nodes_.size(); }
  std::size_t values_made() const noexcept { return values_.size(); }
  // Nodes that are in a block now.
  std::size_t node_count() const noexcept;

  // For who reads a text: gives these values their numbers, and the rest new ones. Neither a value
  // nor a number is there twice.
  struct Numbered {
    std::uint64_t number;
    Value* value;
  };
  void renumber(std::span<const Numbered> values);

 private:
  friend class Block;
  friend class Node;
  friend class Value;
  friend struct TestAccess;
  friend struct SharedCopies;
  ~Graph() override;

  GraphPtr copy(GraphCopies& known) const;
  Node* create_copy(const Node* node, const Mapping& map, GraphCopies& known);

  Block* make_block(Node* owner);
  std::string other_name(std::string_view name);
  void rename(Value* value, std::string_view name);
  void forget(Value* value) noexcept;

  Pool<Node> nodes_;
  Pool<Value> values_;
  Pool<Block> blocks_;
  Block* block_ = nullptr;
  Node* insert_point_ = nullptr;
  int stage_ = 0;
  std::vector<int> output_stages_;  // of each input of the Return node
  std::uint64_t next_unique_ = 0;
  std::uint64_t version_ = 0;
  bool restricted_ = false;
  std::vector<std::string> allowed_;  // if it is restricted
  NameTable names_;                   // debug names, whose texts are in the values
  std::unordered_map<std::string, std::uint64_t> suffixes_;  // the last one given out of each name
};

// A graph without inputs, nodes and outputs.
inline GraphPtr make_graph() { return make_counted<Graph>(); }

// Sets the insert point for a scope.
class InsertPointGuard {
 public:
  explicit InsertPointGuard(Node* node) : graph_(node->graph()), former_(graph_.insert_point()) {
    graph_.set_insert_point(node);
  }
  explicit InsertPointGuard(Block* block) : InsertPointGuard(block->return_node()) {}
  InsertPointGuard(const InsertPointGuard&) = delete;
  InsertPointGuard& operator=(const InsertPointGuard&) = delete;
  // The graph's end if the former point was destroyed meanwhile.
  ~InsertPointGuard() {
    graph_.set_insert_point(former_->is_destroyed() ? graph_.return_node() : former_);
  }

 private:
  Graph& graph_;
  Node* const former_;
};

// Raises BadGraph, naming the first rule that the graph breaks and the node.
OPYARD_API void lint(const Graph& graph);

}  // namespace opyard::jit
