// opyard/jit/value.h: Value: an output of a node, or an input of the graph, and its uses.
//
// It is a name with a type, not data; what it is while a graph runs is an opyard::Value in a
// register. It lives in its graph's memory, and a pointer to it is good for the life of the graph,
// also after it was erased: is_erased() says so then.
//
// Depends on: base/small_vector.h, jit/types.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "opyard/detail/base/small_vector.h"
#include "opyard/jit/types.h"

namespace opyard::jit {

class Block;
class Graph;
class Node;

inline constexpr std::size_t kLongestName = std::size_t{1} << 20;  // in bytes

// One input of one node.
struct Use {
  Node* user;
  std::size_t offset;
  bool operator==(const Use&) const = default;
};

class OPYARD_API Value {
 public:
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;

  // Of its graph alone; never changes.
  std::uint64_t unique() const noexcept { return unique_; }
  // How many values its graph had made before it, for tables; it never changes.
  std::size_t index() const noexcept { return index_; }
  // A name that a person gave it, or empty.
  const std::string& debug_name() const noexcept { return name_; }
  bool has_debug_name() const noexcept { return !name_.empty(); }
  // What it prints as, without the %: its debug name or its number.
  std::string printed_name() const;
  // A value that has this name already gets another one: "x" becomes "x.1". The empty name takes
  // the name away. Raises BadValue for what is no name: letters, digits, _ and ., not digits alone,
  // and no more than kLongestName.
  Value* set_debug_name(std::string_view name);

  const TypePtr& type() const noexcept { return type_; }
  Value* set_type(TypePtr type);
  bool is_pullback() const { return jit::is_pullback(*type_); }

  // The node that gives it; for an input of a block the block's Param node.
  Node* node() const noexcept { return node_; }
  // Which of that node's outputs it is.
  std::size_t offset() const noexcept { return offset_; }
  Graph& graph() const noexcept;
  // The stage of its node; for an input of the graph the stage that takes it.
  int stage() const noexcept;
  // Raises BadValue unless this is an input of the graph.
  Value* set_stage(int stage);

  std::span<const Use> uses() const noexcept { return uses_; }
  bool has_uses() const noexcept { return !uses_.empty(); }
  bool is_erased() const noexcept { return node_ == nullptr; }

  // Every use becomes one of `other`. Raises BadValue for a value of another graph.
  void replace_all_uses_with(Value* other);
  // The uses by nodes behind `node`, in its block or below.
  void replace_all_uses_after(const Node* node, Value* other);
  // Type and debug name, if `from` has one.
  Value* copy_metadata(const Value* from);

 private:
  friend class Graph;
  friend class Node;
  friend struct TestAccess;
  template <typename T>
  friend class Pool;
  Value(Node* node, std::size_t offset, std::size_t index, std::uint64_t unique, TypePtr type,
        int stage)
      : node_(node),
        offset_(offset),
        index_(index),
        unique_(unique),
        type_(std::move(type)),
        stage_(stage) {}
  ~Value() = default;

  void drop_use(Use use) noexcept;
  void move_use(Use from, std::size_t offset) noexcept;

  Node* node_;
  std::size_t offset_;
  const std::size_t index_;
  std::uint64_t unique_;
  TypePtr type_;
  std::string name_;
  SmallVector<Use, 1> uses_;
  int stage_;  // of an input of the graph
};

}  // namespace opyard::jit
