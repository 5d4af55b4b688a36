// text/value_names.h: the symbol table of the graph parser.
//
// Depends on: text/graph_language.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/graph_language.h"

namespace opyard::jit::detail {

class ValueNames {
 public:
  explicit ValueNames(const Cursor& cursor) : cursor_(cursor) {}

  // Forgets all names: another graph begins.
  void clear();
  // From here on this name means this value.
  void define(const Token& name, Value* value);
  Value* find(const Token& name) const;

  // What was named inside a block is forgotten behind it, what it hid is seen again.
  std::size_t begin_block() noexcept {
    ++blocks_;
    return hidden_.size();
  }
  void end_block(std::size_t begin);

  // The values that keep the number that the text calls them by: the newest of each number.
  std::span<const Graph::Numbered> newest();
  // What each name means now, without the %.
  void tell(std::unordered_map<std::string, Value*>& names) const;

 private:
  const Cursor& cursor_;
  NameTable values_;
  std::size_t blocks_ = 0;                                   // around what is read
  std::vector<std::pair<std::string_view, Value*>> hidden_;  // by each definition in a block
  std::vector<Graph::Numbered> numbers_;                     // in the order of the text
};

}  // namespace opyard::jit::detail
