// opyard/jit/aliases.h: alias analysis of a graph: shared memory, writes, and nodes that must
// stay.
//
// The values of a graph fall into sets: two values of different sets never share memory. A list,
// dict or tuple has a set of its own and one for what is in it. Sets are joined as the schemas say
// (a view is in its argument's set), by the blocks (a branch's value and the prim::If's are one),
// and by what goes into a container.
//
// [Outside] Everyone else has memory, too: the graph's inputs, constant tensors, what an earlier
// stage gave to its caller, and all that went to a function without a schema. All of it is one set,
// since any two of these may share memory.
//
// The order of nodes is not looked at: a set is written if any node writes it. So a write is a
// barrier to all that may see it, wherever it is.
//
// An analysis is of the graph as it was. It is made anew after a change.
//
// Depends on: jit/graph.h.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "opyard/jit/graph.h"

namespace opyard::jit {

class OPYARD_API Aliases {
 public:
  explicit Aliases(const Graph& graph);

  // Containers are looked into.
  bool may_share(const Value* a, const Value* b) const;
  // Whether what a value reaches, containers included, is written anywhere in the graph.
  bool is_written(const Value* value) const;
  // Whether anything outside of the graph's run can reach it: see [Outside], and the outputs.
  bool escapes(const Value* value) const;
  // The same for a container without what is in it.
  bool escapes_itself(const Value* value) const;
  // Whether the node does more than give values and write memory: it prints, raises, draws random
  // numbers, has no schema, or gives nothing and writes nothing. Its blocks are asked, too.
  bool has_effects(const Node* node) const;
  // Whether it writes memory that it takes, in its blocks included.
  bool writes(const Node* node) const;

  // The sets that a value reaches, as numbers; none if it has no memory.
  std::vector<std::uint32_t> sets_of(const Value* value) const;
  // The sets that a node itself writes, without its blocks.
  std::vector<std::uint32_t> written_sets(const Node* node) const;
  bool is_outside(std::uint32_t set) const;

 private:
  friend class AliasBuilder;
  friend std::vector<bool> find_written_inputs(const Graph& graph);
  Aliases() = default;
  static constexpr std::uint32_t kOutside = 0;  // see [Outside]
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Set {
    std::uint32_t parent;
    std::uint32_t contents;
    bool written = false;
    bool escapes = false;
  };
  std::uint32_t find(std::uint32_t set) const;

  std::vector<Set> sets_;
  std::unordered_map<const Value*, std::uint32_t> values_;
  std::unordered_map<const Node*, std::vector<std::uint32_t>> writes_;
  std::unordered_map<const Node*, bool> effects_;
};

// Of each input, whether a node writes to it by its schema, itself or through a view, in blocks and
// forks included. Nothing is said of what a function without a schema does, and of a value that may
// be an input or something outside of the graph.
OPYARD_API std::vector<bool> find_written_inputs(const Graph& graph);
// Whether a node begins a fork, which may run on once the graph has run.
OPYARD_API bool has_forks(const Graph& graph);

}  // namespace opyard::jit
