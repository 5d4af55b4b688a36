// opyard/detail/value/dict_object.h: the hash table of a dict, in order of insertion.
//
//   entries_   (a: 1) (b: 2)  ----  (d: 4)        a gap is left where an entry was erased
//                                     ^
//   index_     .  0  .  3  1  .  .  .             positions, found by hash; only for many entries
//
// A key is a bool, an int, a float, a complex number, a text or a tensor. Keys are equal as
// values are: 1, 1.0 and True are three keys, and a tensor is the key of itself alone.
//
// A dict is shared: a change is seen by all its owners. Not synchronised. Pointers with C++
// types are in value/dict.h.
//
// Depends on: value/value.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "opyard/value/value.h"

namespace opyard {

namespace detail {
class Dismantler;
}

class OPYARD_API DictObject final : public Counted {
 public:
  DictObject() noexcept = default;
  // Nested containers are taken apart one after another, so depth costs no stack.
  ~DictObject() override;

  std::size_t size() const noexcept { return live_; }
  bool empty() const noexcept { return live_ == 0; }

  // All functions below that take a key raise BadArgument for a value that cannot be one.

  // The value of a key, or null. Good until the dict changes.
  const Value* find(const Value& key) const;
  // Adds an entry at the end, or replaces the value of the one with this key, which keeps its
  // place. Returns whether it was added.
  bool insert_or_assign(Value key, Value value);
  // Adds an entry at the end unless there is one with this key. Returns whether it was added.
  bool insert(Value key, Value value);
  // Returns whether there was one.
  bool erase(const Value& key);
  void clear() noexcept;
  void reserve(std::size_t entries);

  // Walking: position = next(0), then next(position + 1), until kEnd. An insertion may move
  // entries to the front, so that a walk across it can miss some; it never leaves the dict.
  static constexpr std::size_t kEnd = ~std::size_t{0};
  std::size_t next(std::size_t position) const noexcept;
  // Raise BadIndex for a position without an entry: the dict was changed during the walk.
  const Value& key_at(std::size_t position) const { return entry_at(position).key; }
  const Value& value_at(std::size_t position) const { return entry_at(position).value; }

 private:
  struct Entry {
    Value key;
    Value value;
    std::uint64_t hash;
    bool live;
  };

  friend class detail::Dismantler;

  // For the end of a dict.
  void hand_over(detail::Dismantler& dismantler) noexcept;
  const Entry& entry_at(std::size_t position) const;
  std::size_t find_position(const Value& key, std::uint64_t hash) const noexcept;
  void add(Value key, Value value, std::uint64_t hash);
  void make_room(std::size_t more);
  void put_in_index(std::vector<std::uint32_t>& index, std::size_t position) const noexcept;

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> index_;  // a power of two, or none; holds position + 1, or 0
  std::size_t live_ = 0;
};

// Whether a value can be a key.
OPYARD_API bool is_key(const Value& value) noexcept;

}  // namespace opyard
