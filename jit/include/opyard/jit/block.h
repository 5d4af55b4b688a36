// opyard/jit/block.h: a list of nodes with inputs and outputs: a graph's own, or a branch or body.
//
//        ┌─ Param ─ first node ─ … ─ last node ─ Return ─┐
//        └───────────────────────────────────────────────┘
//
// Param's outputs are the block's inputs, Return's inputs are the block's outputs. The two are not
// seen by those who walk over the nodes.
//
// Depends on: jit/node.h.
#pragma once

#include <iterator>
#include <span>

#include "opyard/jit/node.h"

namespace opyard::jit {

// The nodes between the sentinels, in order. The current node may be destroyed while walking if the
// iterator has moved on before.
class NodeList {
 public:
  // From node to node. The node that it is at may be removed when it has left it.
  class Iterator {
   public:
    using value_type = Node*;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::bidirectional_iterator_tag;

    Iterator() noexcept = default;
    explicit Iterator(Node* node) noexcept : node_(node) {}
    Node* operator*() const noexcept { return node_; }
    Iterator& operator++() noexcept {
      node_ = node_->next();
      return *this;
    }
    Iterator operator++(int) noexcept {
      Iterator before = *this;
      ++*this;
      return before;
    }
    Iterator& operator--() noexcept {
      node_ = node_->prev();
      return *this;
    }
    Iterator operator--(int) noexcept {
      Iterator before = *this;
      --*this;
      return before;
    }
    bool operator==(const Iterator&) const noexcept = default;

   private:
    Node* node_ = nullptr;
  };

  NodeList(Node* param, Node* ret) noexcept : param_(param), return_(ret) {}
  Iterator begin() const noexcept { return Iterator(param_->next()); }
  Iterator end() const noexcept { return Iterator(return_); }
  bool empty() const noexcept { return param_->next() == return_; }

 private:
  Node* param_;
  Node* return_;
};

class OPYARD_API Block {
 public:
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  Graph& graph() const noexcept { return *graph_; }
  // The node that this is a block of; null for the graph's own.
  Node* owning_node() const noexcept { return owner_; }

  std::span<Value* const> inputs() const noexcept { return param_->outputs(); }
  std::span<Value* const> outputs() const noexcept { return return_->inputs(); }
  NodeList nodes() const noexcept { return {param_, return_}; }
  Node* param_node() const noexcept { return param_; }
  Node* return_node() const noexcept { return return_; }
  // How many blocks are around this one.
  std::size_t depth() const noexcept;

  Value* add_input(std::string_view name = {}, TypePtr type = {});
  Value* insert_input(std::size_t index, std::string_view name = {}, TypePtr type = {});
  // Raises BadValue for one that is used, BadIndex for one that is not there.
  void erase_input(std::size_t index);
  void permute_inputs(std::span<const std::size_t> order);
  // The index of the output.
  std::size_t register_output(Value* value);
  void insert_output(std::size_t index, Value* value);
  void replace_output(std::size_t index, Value* value);
  void erase_output(std::size_t index);
  void permute_outputs(std::span<const std::size_t> order);

  // Puts a node that is in no block behind the last one, or before the first.
  Node* append_node(Node* node);
  Node* prepend_node(Node* node);

 private:
  friend class Graph;
  friend class Node;
  friend struct TestAccess;
  template <typename T>
  friend class Pool;
  Block(Graph* graph, Node* owner) noexcept : graph_(graph), owner_(owner) {}
  ~Block() = default;

  void reindex() noexcept;

  Graph* graph_;
  Node* owner_;
  Node* param_ = nullptr;
  Node* return_ = nullptr;
};

}  // namespace opyard::jit
