// opyard/jit/node.h: one operation of a graph: a kind, inputs, outputs, attributes and blocks.
//
// A node lives in its graph's memory. A pointer to it is good for the life of the graph, also after
// destroy(): is_destroyed() says so then, and every change of it raises BadValue.
//
// [Order] A node of a block has a 64-bit position. Appending adds 2^40, inserting halves a gap, and
// only when a gap is used up all positions of the block are given anew. So is_before() is two
// comparisons, and one step up the blocks for each level between.
//
// Functions that change raise BadValue, and change nothing, for nodes and values of another graph
// and for destroyed ones, and BadIndex for a place that is not there.
//
// Threads: a graph is changed by one thread at a time; reading needs no lock if no one changes it.
//
// Depends on: jit/attribute.h, jit/value.h, jit/source_range.h.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/jit/attribute.h"
#include "opyard/jit/source_range.h"
#include "opyard/jit/value.h"

namespace opyard::jit {

class OPYARD_API Node {
 public:
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  Symbol kind() const noexcept { return kind_; }
  // The overload that a text or builder named; empty if it is chosen by the types of the inputs.
  Symbol overload() const noexcept { return overload_; }
  void set_overload(Symbol overload) noexcept;
  Graph& graph() const noexcept { return *graph_; }
  // Null while it is in no block, as after Graph::create().
  Block* owning_block() const noexcept { return block_; }
  Node* owning_node() const noexcept;
  int stage() const noexcept { return stage_; }
  Node* set_stage(int stage);
  const SourceRange& source_range() const noexcept { return source_; }
  void set_source_range(SourceRange range);
  // The names of the modules that it came from, "net/conv1", or empty.
  const std::string& scope() const noexcept { return scope_; }
  void set_scope(std::string scope);
  bool is_destroyed() const noexcept { return destroyed_; }
  // How many nodes its graph had made before it, for tables; it never changes.
  std::size_t index() const noexcept { return index_; }
  // What an operation of another layer, such as a PythonOp, hangs on its node; or null.
  const CountedPtr<Counted>& payload() const noexcept { return payload_; }
  void set_payload(CountedPtr<Counted> payload);

  std::span<Value* const> inputs() const noexcept { return inputs_; }
  std::span<Value* const> outputs() const noexcept { return outputs_; }
  std::span<Block* const> blocks() const noexcept { return blocks_; }
  Value* input(std::size_t index) const;
  Value* output(std::size_t index) const;
  // The only one. Raises BadValue if there are more or fewer.
  Value* input() const;
  Value* output() const;
  bool has_uses() const noexcept;

  // The neighbours in its block; the block's sentinels among them.
  Node* next() const noexcept { return next_; }
  Node* prev() const noexcept { return prev_; }
  // In program order; a node is before those of its own blocks. See [Order]. Raises BadValue for
  // nodes of different graphs, or in no block.
  bool is_before(const Node* other) const;
  bool is_after(const Node* other) const;

  // Inputs.
  Value* add_input(Value* value);
  Value* insert_input(std::size_t index, Value* value);
  // The one that was there.
  Value* replace_input(std::size_t index, Value* value);
  void replace_input_with(Value* from, Value* to);
  void remove_input(std::size_t index);
  void remove_all_inputs() noexcept;
  // Input i becomes the one that was at order[i]. Raises BadValue for what is no permutation.
  void permute_inputs(std::span<const std::size_t> order);

  // Outputs. Without a type they are Tensors.
  Value* add_output(TypePtr type = {});
  Value* insert_output(std::size_t index, TypePtr type = {});
  // Raises BadValue for one that is used.
  void erase_output(std::size_t index);
  void permute_outputs(std::span<const std::size_t> order);
  void replace_all_uses_with(Node* other);

  // Blocks.
  Block* add_block();
  // Raises BadValue if a node elsewhere uses a value from inside.
  void erase_block(std::size_t index);

  // Places. These return the node itself.
  Node* insert_before(Node* other);  // this one is in no block yet
  Node* insert_after(Node* other);
  Node* move_before(Node* other);
  Node* move_after(Node* other);
  // Raises BadValue if an output is used.
  void destroy();

  // Attributes, in order of insertion. Setters return the node: node->i_(a, 1)->s_(b, "x"). Getters
  // raise NotFound for a name that is not there and BadArgument for another kind.
#define OPYARD_ATTRIBUTE_KIND(letters, type, words)                     \
  Node* letters##_(Symbol name, type value);                            \
  const type& letters(Symbol name) const {                              \
    return std::get<type>(get_attribute(name, AttributeKind::letters)); \
  }
#include "opyard/jit/attribute_kinds.def"
#undef OPYARD_ATTRIBUTE_KIND
  std::span<const Attribute> attributes() const noexcept { return attributes_; }
  bool has_attribute(Symbol name) const noexcept { return find_attribute(name) != nullptr; }
  const Attribute* find_attribute(Symbol name) const noexcept;
  AttributeKind kind_of(Symbol name) const;
  std::vector<Symbol> attribute_names() const;
  Node* set_attribute(Symbol name, AttributeValue value);
  Node* remove_attribute(Symbol name);
  // Replaces all by copies of the other node's; graphs in them are copied, too.
  Node* copy_attributes(const Node* from);

 private:
  Node* copy_attributes(const Node* from, GraphCopies& known);
  friend class Block;
  friend class Graph;
  friend class Value;
  friend struct TestAccess;
  template <typename T>
  friend class Pool;
  Node(Graph* graph, Symbol kind, int stage);
  ~Node();

  const AttributeValue& get_attribute(Symbol name, AttributeKind kind) const;
  void check_alive() const;
  void check_value(const Value* value) const;
  void check_index(std::size_t index, std::size_t count, const char* what) const;
  bool is_graph_return() const noexcept;
  Value* make_output(std::size_t index, TypePtr type, int stage);
  void link_between(Node* before, Node* after);
  void unlink() noexcept;
  void take_position() noexcept;
  void discard() noexcept;

  Graph* graph_;
  const std::size_t index_;
  Block* block_ = nullptr;
  Node* next_ = nullptr;
  Node* prev_ = nullptr;
  // See [Order]; a block's parameters and its results are at the ends.
  static constexpr std::int64_t kFirstPosition = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kLastPosition = std::numeric_limits<std::int64_t>::max();
  std::int64_t position_ = 0;
  Symbol kind_;
  Symbol overload_;
  int stage_;
  bool destroyed_ = false;
  SmallVector<Value*, 3> inputs_;
  SmallVector<Value*, 1> outputs_;
  std::vector<Block*> blocks_;
  std::vector<Attribute> attributes_;
  SourceRange source_;
  std::string scope_;
  CountedPtr<Counted> payload_;
};

}  // namespace opyard::jit
