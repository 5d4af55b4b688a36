// opyard/value/dict.h: a shared dict whose keys and values have C++ types.
//
// A Dict is a counted pointer: its copies, and the values made from it, are the same dict, and all
// see what one of them changes. copy() makes a dict of its own. Entries stay in the order in which
// their keys came. Keys: bool, std::int64_t, double, std::complex<double>, std::string, and
// Tensor, which is the key of itself alone.
//
// The dict behind it may have come from anywhere, so each key and value is checked when it is
// read: BadArgument ("expected Int but got Double"). Changing the dict while it is iterated is
// safe: an entry may be missed, and a lost one raises BadIndex. Not synchronised.
//
// Depends on: value/cast.h, value/list.h.
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <utility>

#include "opyard/value/cast.h"
#include "opyard/value/list.h"

namespace opyard {

namespace detail {

template <typename K>
concept DictKey = std::same_as<K, bool> || std::same_as<K, std::int64_t> ||
                  std::same_as<K, double> || std::same_as<K, std::complex<double>> ||
                  std::same_as<K, std::string> || std::same_as<K, Tensor>;

[[noreturn]] OPYARD_API OPYARD_COLD void refuse_missing(const Value& key);

// The dict in a value, with one more owner. Raises BadArgument.
OPYARD_API CountedPtr<DictObject> dict_object(const Value& value);
OPYARD_API CountedPtr<DictObject> copy_entries(const DictObject& dict);

}  // namespace detail

template <typename K, typename V>
class Dict {
  static_assert(detail::DictKey<K>,
                "the keys of a Dict are bool, std::int64_t, double, std::complex<double>, "
                "std::string or Tensor");

 public:
  // A new, empty dict.
  Dict() : dict_(make_counted<DictObject>()) {}
  Dict(std::initializer_list<std::pair<K, V>> entries) : Dict() {
    reserve(entries.size());
    for (const auto& [key, value] : entries) insert_or_assign(key, value);
  }
  // The dict in a value, shared. Raises BadArgument if it is none.
  explicit Dict(const Value& value) : dict_(detail::dict_object(value)) {}

  std::size_t size() const noexcept { return dict_->size(); }
  bool empty() const noexcept { return dict_->empty(); }

  bool contains(const K& key) const { return dict_->find(boxed(key)) != nullptr; }
  // The value of a key, or nothing.
  std::optional<V> find(const K& key) const {
    const Value* const found = dict_->find(boxed(key));
    return found == nullptr ? std::nullopt : std::optional<V>(ValueCast<V>::from(*found));
  }
  // The value of a key. Raises BadIndex if there is none.
  V at(const K& key) const {
    const Value* const found = dict_->find(boxed(key));
    if (__builtin_expect(found == nullptr, 0)) detail::refuse_missing(boxed(key));
    return ValueCast<V>::from(*found);
  }

  // Adds an entry unless there is one with this key; whether it was added.
  bool insert(const K& key, V value) const {
    return dict_->insert(boxed(key), ValueCast<V>::to(std::move(value)));
  }
  // Adds an entry or replaces the value of the one with this key; whether it was added.
  bool insert_or_assign(const K& key, V value) const {
    return dict_->insert_or_assign(boxed(key), ValueCast<V>::to(std::move(value)));
  }
  // Whether there was one.
  bool erase(const K& key) const { return dict_->erase(boxed(key)); }
  void clear() const noexcept { dict_->clear(); }
  void reserve(std::size_t entries) const { dict_->reserve(entries); }

  // New lists, in order.
  List<K> keys() const {
    List<K> out;
    for (const auto& [key, value] : *this) out.push_back(key);
    return out;
  }
  List<V> values() const {
    List<V> out;
    for (const auto& [key, value] : *this) out.push_back(value);
    return out;
  }

  // A dict of its own with the same keys and values, which are not copied.
  Dict copy() const { return Dict(Value(detail::copy_entries(*dict_))); }

  // Shares the dict.
  Value value() const { return Value(dict_); }
  operator Value() const { return value(); }  // NOLINT
  bool identical(const Dict& other) const noexcept { return dict_ == other.dict_; }
  // The same entries, in any order; see Value.
  bool operator==(const Dict& other) const { return value() == other.value(); }

  class Iterator {
   public:
    using value_type = std::pair<K, V>;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::forward_iterator_tag;
    using iterator_category = std::input_iterator_tag;  // it yields copies

    Iterator() noexcept = default;
    value_type operator*() const {
      return {ValueCast<K>::from(dict_->key_at(position_)),
              ValueCast<V>::from(dict_->value_at(position_))};
    }
    Iterator& operator++() noexcept {
      position_ = dict_->next(position_ + 1);
      return *this;
    }
    Iterator operator++(int) noexcept {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator&) const noexcept = default;

   private:
    friend class Dict;
    Iterator(const DictObject* dict, std::size_t position) noexcept
        : dict_(dict), position_(position) {}
    const DictObject* dict_ = nullptr;
    std::size_t position_ = 0;
  };
  // Good while an owner of the dict lives.
  Iterator begin() const noexcept { return {dict_.get(), dict_->next(0)}; }
  Iterator end() const noexcept { return {dict_.get(), DictObject::kEnd}; }

 private:
  static Value boxed(const K& key) { return ValueCast<K>::to(key); }

  CountedPtr<DictObject> dict_;
};

template <typename K, typename V>
struct ValueCast<Dict<K, V>> {
  static Dict<K, V> from(const Value& value) { return Dict<K, V>(value); }
  static Value to(const Dict<K, V>& dict) { return dict.value(); }
};

}  // namespace opyard
