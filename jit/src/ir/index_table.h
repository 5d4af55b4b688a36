// ir/index_table.h: a table of facts about the nodes or values of one graph, by index.
//
// A map from addresses would miss the cache at every look: of the time that a graph of a million
// nodes took from text to code, such maps took half (test/bench, graph_million).
//
// Depends on: jit/graph.h.
#pragma once

#include <cstddef>
#include <vector>

#include "opyard/jit/graph.h"

namespace opyard::jit {

template <typename Key, typename T>
class IndexTable {
 public:
  IndexTable() = default;
  // For so many keys; of those that are made later there is nothing to find.
  explicit IndexTable(std::size_t count) : entries_(count) {}

  T* find(const Key* key) noexcept {
    Entry* const entry = key->index() < entries_.size() ? &entries_[key->index()] : nullptr;
    return entry != nullptr && entry->key == key ? &entry->item : nullptr;
  }
  const T* find(const Key* key) const noexcept { return const_cast<IndexTable*>(this)->find(key); }
  // What is there if something is, else a new one.
  T& operator[](const Key* key) {
    Entry& entry = entries_.at(key->index());
    if (entry.key != key) entry = {key, T()};
    return entry.item;
  }

 private:
  struct Entry {
    const Key* key = nullptr;
    T item{};
  };
  std::vector<Entry> entries_;
};

template <typename T>
using NodeTable = IndexTable<Node, T>;
template <typename T>
using ValueTable = IndexTable<Value, T>;

}  // namespace opyard::jit
