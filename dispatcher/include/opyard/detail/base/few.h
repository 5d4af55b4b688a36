// opyard/detail/base/few.h: Few: a vector with inline storage for its first N objects.
//
//   ┌──────┬──────┬──────────┬────────────────────┐
//   │ data │ size │ capacity │ room for N items   │   data leads there, or to memory of its own
//   └──────┴──────┴──────────┴────────────────────┘
//
// Most calls take and give a few objects: what is kept of them needs no memory of its own then.
// small_vector.h is the one for words, which are copied as bytes.
//
// Depends on: base/alloc.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>

#include "opyard/base/alloc.h"

namespace opyard {

template <typename T, std::size_t N>
class Few {
 public:
  using value_type = T;

  Few() noexcept : data_(own()) {}
  explicit Few(std::size_t count) : Few() {
    reserve(count);
    std::uninitialized_value_construct_n(data_, count);
    size_ = std::uint32_t(count);
  }
  Few(std::initializer_list<T> items) : Few() {
    reserve(items.size());
    for (const T& item : items) push_back(item);
  }
  Few(const Few& other) : Few() {
    reserve(other.size_);
    for (const T& item : other) push_back(item);
  }
  Few(Few&& other) noexcept : Few() { take(other); }
  Few& operator=(Few other) noexcept {
    clear();
    if (__builtin_expect(!is_own(), 0)) {
      give_back();
      data_ = own();
      capacity_ = N;
    }
    take(other);
    return *this;
  }
  ~Few() {
    std::destroy_n(data_, size_);
    give_back();
  }

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  T* begin() noexcept { return data_; }
  T* end() noexcept { return data_ + size_; }
  const T* begin() const noexcept { return data_; }
  const T* end() const noexcept { return data_ + size_; }
  T& operator[](std::size_t i) noexcept { return data_[i]; }
  const T& operator[](std::size_t i) const noexcept { return data_[i]; }
  T& back() noexcept { return data_[size_ - 1]; }
  const T& back() const noexcept { return data_[size_ - 1]; }

  T& push_back(T item) { return emplace_back(std::move(item)); }
  template <typename... Args>
  T& emplace_back(Args&&... args) {
    if (__builtin_expect(size_ == capacity_, 0)) grow(size_ + std::size_t{1});
    T* const made = std::construct_at(data_ + size_, std::forward<Args>(args)...);
    ++size_;
    return *made;
  }
  void pop_back() noexcept { std::destroy_at(data_ + --size_); }
  void reserve(std::size_t count) {
    if (count > capacity_) grow(count);
  }
  void resize(std::size_t count) {
    reserve(count);
    while (size_ < count) emplace_back();
    while (size_ > count) pop_back();
  }
  void clear() noexcept { std::destroy_n(data_, std::exchange(size_, 0)); }

 private:
  T* own() noexcept { return reinterpret_cast<T*>(room_); }
  bool is_own() const noexcept { return data_ == reinterpret_cast<const T*>(room_); }

  OPYARD_COLD void grow(std::size_t count) {
    const std::size_t grown = std::max(count, std::size_t{capacity_} * 2);
    T* const fresh = static_cast<T*>(allocate(grown * sizeof(T), alignof(T)));
    std::uninitialized_move_n(data_, size_, fresh);
    std::destroy_n(data_, size_);
    give_back();
    data_ = fresh;
    capacity_ = std::uint32_t(grown);
  }
  void give_back() noexcept {
    if (__builtin_expect(is_own(), 1)) return;
    deallocate(data_, capacity_ * sizeof(T), alignof(T));
  }
  // Of an empty one that holds no memory.
  void take(Few& other) noexcept {
    if (__builtin_expect(other.is_own(), 1)) {
      const std::uint32_t count = std::exchange(other.size_, 0);
      for (std::uint32_t i = 0; i < count; ++i) {  // what was moved from is seen to be empty
        std::construct_at(data_ + i, std::move(other.data_[i]));
        std::destroy_at(other.data_ + i);
      }
      size_ = count;
      return;
    }
    data_ = std::exchange(other.data_, other.own());
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, std::uint32_t(N));
  }

  T* data_;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = N;
  alignas(T) std::byte room_[N * sizeof(T)];
};

}  // namespace opyard
