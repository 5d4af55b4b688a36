// opyard/value/list.h: a shared list whose elements have one C++ type.
//
// A List is a counted pointer: its copies, and the values made from it, are the same list, and all
// see what one of them changes. copy() makes a list of its own.
//
//   List<std::int64_t> sizes{2, 3};
//   stack.push(sizes);            the callee may append to it
//
// The list behind it may have come from anywhere, so each element is checked when it is read:
// BadArgument ("expected Int but got Double"). An index past the end raises BadIndex. Changing
// the list while it is iterated is safe: a lost element raises BadIndex. Not synchronised.
//
// Depends on: value/cast.h.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <utility>
#include <vector>

#include "opyard/value/cast.h"

namespace opyard {

namespace detail {

[[noreturn]] OPYARD_API OPYARD_COLD void refuse_index(std::size_t index, std::size_t size);

// The list in a value, with one more owner. Raises BadArgument.
OPYARD_API CountedPtr<ListObject> list_object(const Value& value);

}  // namespace detail

template <typename T>
class List {
 public:
  // A new, empty list.
  List() : list_(make_counted<ListObject>(std::vector<Value>())) {}
  List(std::initializer_list<T> items) : List() {
    reserve(items.size());
    for (const T& item : items) push_back(item);
  }
  // The list in a value, shared. Raises BadArgument if it is none.
  explicit List(const Value& value) : list_(detail::list_object(value)) {}

  std::size_t size() const noexcept { return list_->items.size(); }
  bool empty() const noexcept { return list_->items.empty(); }

  T get(std::size_t index) const { return ValueCast<T>::from(at(index)); }
  T operator[](std::size_t index) const { return get(index); }
  void set(std::size_t index, T item) const { at(index) = ValueCast<T>::to(std::move(item)); }

  void push_back(T item) const { list_->items.push_back(ValueCast<T>::to(std::move(item))); }
  // Takes the last element off. Raises BadIndex for an empty list.
  T pop_back() const {
    const Value last = std::move(at(size() - 1));
    list_->items.pop_back();
    return ValueCast<T>::from(last);
  }
  // Before the element at `index`; `index` may be size().
  void insert(std::size_t index, T item) const {
    if (index > size()) detail::refuse_index(index, size());
    list_->items.insert(position(index), ValueCast<T>::to(std::move(item)));
  }
  void erase(std::size_t index) const {
    const Value old = std::move(at(index));  // dies when the list is whole
    list_->items.erase(position(index));
  }
  // `other` may be this list.
  void append(const List& other) const {
    const std::vector<Value> more = other.list_->items;
    list_->items.insert(list_->items.end(), more.begin(), more.end());
  }
  void clear() const noexcept { const std::vector<Value> old = std::move(list_->items); }
  void reserve(std::size_t size) const { list_->items.reserve(size); }

  // A list of its own with the same elements, which are not copied.
  List copy() const { return List(Value::list(list_->items)); }
  std::vector<T> to_vector() const { return value().template to<std::vector<T>>(); }

  // Shares the list.
  Value value() const { return Value::shared_list(list_); }
  operator Value() const { return value(); }  // NOLINT
  bool identical(const List& other) const noexcept { return list_ == other.list_; }
  // By element; see Value.
  bool operator==(const List& other) const { return value() == other.value(); }

  class Iterator {
   public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::forward_iterator_tag;
    using iterator_category = std::input_iterator_tag;  // it yields copies

    Iterator() noexcept = default;
    T operator*() const { return ValueCast<T>::from(List::at(*list_, index_)); }
    Iterator& operator++() noexcept {
      ++index_;
      return *this;
    }
    Iterator operator++(int) noexcept {
      Iterator before = *this;
      ++index_;
      return before;
    }
    bool operator==(const Iterator&) const noexcept = default;

   private:
    friend class List;
    Iterator(ListObject* list, std::size_t index) noexcept : list_(list), index_(index) {}
    ListObject* list_ = nullptr;
    std::size_t index_ = 0;
  };
  // Good while an owner of the list lives.
  Iterator begin() const noexcept { return {list_.get(), 0}; }
  Iterator end() const noexcept { return {list_.get(), size()}; }

 private:
  static Value& at(ListObject& list, std::size_t index) {
    if (__builtin_expect(index >= list.items.size(), 0)) {
      detail::refuse_index(index, list.items.size());
    }
    return list.items[index];
  }
  Value& at(std::size_t index) const { return at(*list_, index); }
  std::vector<Value>::iterator position(std::size_t index) const {
    return list_->items.begin() + std::ptrdiff_t(index);
  }

  CountedPtr<ListObject> list_;
};

template <typename T>
struct ValueCast<List<T>> {
  static List<T> from(const Value& value) { return List<T>(value); }
  static Value to(const List<T>& list) { return list.value(); }
};

}  // namespace opyard
