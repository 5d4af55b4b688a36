// opyard/jit/name_table.h: table of values by name.
//
// [Neighbours] Names that differ in their last character only are stored side by side: a program
// names its values %x1, %x2, %x3, so that a walk over a large graph finds what is asked next
// in the cache. A map of the standard library missed the cache two to four times at every look: of
// the time that a graph of a million nodes took from text to code, such maps took half (test/bench,
// graph_million).
//
//        ┌──────────────┬──────────────┬────────┬─────────┐
//        │ text         │ value        │ size   │ hash    │     an entry; free if the value is null
//        └──────────────┴──────────────┴────────┴─────────┘
//
// Texts are not copied: they must be where they are for as long as they are in the table.
//
// Threads: reading needs no lock if no one changes it.
//
// Depends on: base/export.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "opyard/base/export.h"

namespace opyard::jit {

class Value;

class OPYARD_API NameTable {
 public:
  // Null for a name that is not there.
  Value* find(std::string_view name) const noexcept;
  // Makes room for so many names in all; set() then allocates nothing.
  void reserve(std::size_t count);
  // A null value takes the name away.
  void set(std::string_view name, Value* value);
  void erase(std::string_view name) noexcept;
  void clear() noexcept;
  std::size_t size() const noexcept { return size_; }

  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const Entry& entry : entries_) {
      if (entry.value != nullptr) visit(entry.name(), entry.value);
    }
  }

 private:
  struct Entry {
    const char* text = nullptr;
    Value* value = nullptr;
    std::uint32_t size = 0;
    std::uint32_t hash = 0;
    std::string_view name() const noexcept { return {text, size}; }
  };

  // Where a name is, or the free entry where it would be.
  std::size_t index_of(std::string_view name, std::uint32_t hash) const noexcept;
  void grow(std::size_t capacity);

  std::vector<Entry> entries_;  // a power of two, at most 5/8 of them in use
  std::size_t size_ = 0;
};

}  // namespace opyard::jit
