// ir/name_table.cpp: hash table of names: find, insert, erase.
//
// A name that finds its entry taken goes into the next free one; so removing a name moves
// back those that had to go on because of it.
#include "opyard/jit/name_table.h"

#include <functional>

namespace opyard::jit {
namespace {

constexpr std::size_t kFewest = 16;

// See [Neighbours]: the last character decides the place among sixteen, the rest decides which.
std::uint32_t hash_of(std::string_view name) noexcept {
  if (name.empty()) return 0;
  const std::size_t rest = std::hash<std::string_view>()(name.substr(0, name.size() - 1));
  return std::uint32_t(rest << 4) | (static_cast<unsigned char>(name.back()) & 15U);
}

std::size_t room_for(std::size_t names) noexcept {
  std::size_t capacity = kFewest;
  while (capacity * 5 < names * 8) capacity *= 2;
  return capacity;
}

}  // namespace

std::size_t NameTable::index_of(std::string_view name, std::uint32_t hash) const noexcept {
  const std::size_t mask = entries_.size() - 1;
  std::size_t at = hash & mask;
  for (;; at = (at + 1) & mask) {
    const Entry& entry = entries_[at];
    if (entry.value == nullptr) return at;
    if (entry.hash == hash && entry.name() == name) return at;
  }
}

Value* NameTable::find(std::string_view name) const noexcept {
  return entries_.empty() ? nullptr : entries_[index_of(name, hash_of(name))].value;
}

void NameTable::reserve(std::size_t count) {
  const std::size_t capacity = room_for(count);
  if (capacity > entries_.size()) grow(capacity);
}

void NameTable::grow(std::size_t capacity) {
  std::vector<Entry> former(capacity);
  former.swap(entries_);
  for (const Entry& entry : former) {
    if (entry.value != nullptr) entries_[index_of(entry.name(), entry.hash)] = entry;
  }
}

void NameTable::set(std::string_view name, Value* value) {
  if (value == nullptr) return erase(name);
  reserve(size_ + 1);
  const std::uint32_t hash = hash_of(name);
  Entry& entry = entries_[index_of(name, hash)];
  if (entry.value == nullptr) ++size_;
  entry = {name.data(), value, std::uint32_t(name.size()), hash};
}

void NameTable::erase(std::string_view name) noexcept {
  if (entries_.empty()) return;
  const std::size_t mask = entries_.size() - 1;
  std::size_t gap = index_of(name, hash_of(name));
  if (entries_[gap].value == nullptr) return;
  --size_;
  for (std::size_t at = (gap + 1) & mask; entries_[at].value != nullptr; at = (at + 1) & mask) {
    // It may go back to the gap unless that is before its own place.
    const std::size_t home = entries_[at].hash & mask;
    if (((at - home) & mask) < ((at - gap) & mask)) continue;
    entries_[gap] = entries_[at];
    gap = at;
  }
  entries_[gap] = {};
}

void NameTable::clear() noexcept {
  entries_.clear();
  size_ = 0;
}

}  // namespace opyard::jit
