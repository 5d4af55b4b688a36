// value/dict_object.cpp: hash table of a dict: find, insert, erase.
//
// [Index] Up to kFew entries are found by looking at each. Beyond that there is an index: an open
// table of positions, at most half full, searched from the hash onwards to the first free place.
// Entries are never moved while the dict lives; an erased entry stays as a gap, over which searches
// go on. When there is no room for one more entry the gaps are closed and the index is made anew.
#include "opyard/detail/value/dict_object.h"

#include <fmt/format.h>

#include <bit>

#include "value/dismantle.h"
#include "value/hashing.h"

namespace opyard {
namespace {

constexpr std::size_t kFew = 8;
constexpr std::size_t kMostEntries = std::size_t{1} << 30;  // so that positions fit in 32 bits

std::uint64_t hash_of_key(const Value& key) {
  if (!is_key(key)) {
    fail(ErrorKind::BadArgument,
         fmt::format("expected a key (Bool, Int, Double, ComplexDouble, String or Tensor) but got "
                     "{}",
                     name_of(key.kind())));
  }
  return detail::hash_of_leaf(key);
}

}  // namespace

bool is_key(const Value& value) noexcept {
  switch (value.kind()) {
    case Kind::Bool:
    case Kind::Int:
    case Kind::Double:
    case Kind::Complex:
    case Kind::String:
    case Kind::Tensor:
      return true;
    default:
      return false;
  }
}

DictObject::~DictObject() {
  detail::Dismantler dismantler;
  hand_over(dismantler);
}

void DictObject::hand_over(detail::Dismantler& dismantler) noexcept {
  for (Entry& entry : entries_) dismantler.take(entry.value);
}

const Value* DictObject::find(const Value& key) const {
  const std::size_t position = find_position(key, hash_of_key(key));
  return position == kEnd ? nullptr : &entries_[position].value;
}

bool DictObject::insert_or_assign(Value key, Value value) {
  const std::uint64_t hash = hash_of_key(key);
  const std::size_t position = find_position(key, hash);
  if (position != kEnd) {
    entries_[position].value = std::move(value);  // the old one dies last, see Value
    return false;
  }
  add(std::move(key), std::move(value), hash);
  return true;
}

bool DictObject::insert(Value key, Value value) {
  const std::uint64_t hash = hash_of_key(key);
  if (find_position(key, hash) != kEnd) return false;
  add(std::move(key), std::move(value), hash);
  return true;
}

bool DictObject::erase(const Value& key) {
  const std::size_t position = find_position(key, hash_of_key(key));
  if (position == kEnd) return false;
  Entry& entry = entries_[position];
  // Their destructors may look at this dict: it is whole before they run.
  const Value old_key = std::move(entry.key);
  const Value old_value = std::move(entry.value);
  entry.live = false;
  --live_;
  return true;
}

void DictObject::clear() noexcept {
  const std::vector<Entry> old = std::move(entries_);
  entries_.clear();
  index_.clear();
  live_ = 0;
}

void DictObject::reserve(std::size_t entries) {
  if (entries > live_) make_room(entries - live_);
}

std::size_t DictObject::next(std::size_t position) const noexcept {
  while (position < entries_.size() && !entries_[position].live) ++position;
  return position < entries_.size() ? position : kEnd;
}

const DictObject::Entry& DictObject::entry_at(std::size_t position) const {
  if (position >= entries_.size() || !entries_[position].live) {
    fail(ErrorKind::BadIndex,
         "the dict was changed while it was walked through: the entry is gone");
  }
  return entries_[position];
}

std::size_t DictObject::find_position(const Value& key, std::uint64_t hash) const noexcept {
  const auto is_it = [&](const Entry& entry) {
    return entry.hash == hash && entry.live && detail::equal_leaves(entry.key, key);
  };
  if (index_.empty()) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (is_it(entries_[i])) return i;
    }
    return kEnd;
  }
  const std::size_t last = index_.size() - 1;
  for (std::size_t at = hash & last; index_[at] != 0; at = (at + 1) & last) {
    if (is_it(entries_[index_[at] - 1])) return index_[at] - 1;
  }
  return kEnd;
}

void DictObject::add(Value key, Value value, std::uint64_t hash) {
  make_room(1);
  entries_.push_back({std::move(key), std::move(value), hash, true});
  if (!index_.empty()) put_in_index(index_, entries_.size() - 1);
  ++live_;
}

// Room for `more` entries without an allocation. See [Index].
void DictObject::make_room(std::size_t more) {
  const std::size_t wanted = live_ + more;
  const std::size_t held = index_.empty() ? kFew : index_.size() / 2;
  if (entries_.size() + more <= held && entries_.size() + more <= entries_.capacity()) return;
  if (more > kMostEntries || wanted > kMostEntries) throw std::bad_alloc();

  const std::size_t room = std::bit_ceil(wanted <= kFew ? wanted : wanted + wanted / 2);
  std::vector<Entry> entries;
  entries.reserve(room);
  std::vector<std::uint32_t> index;
  if (wanted > kFew) index.resize(room * 2);
  for (Entry& entry : entries_) {
    if (entry.live) entries.push_back(std::move(entry));
  }
  entries_ = std::move(entries);
  index_ = std::move(index);
  if (index_.empty()) return;
  for (std::size_t i = 0; i < entries_.size(); ++i) put_in_index(index_, i);
}

void DictObject::put_in_index(std::vector<std::uint32_t>& index,
                              std::size_t position) const noexcept {
  const std::size_t last = index.size() - 1;
  std::size_t at = entries_[position].hash & last;
  while (index[at] != 0) at = (at + 1) & last;
  index[at] = std::uint32_t(position + 1);
}

}  // namespace opyard
