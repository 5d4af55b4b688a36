// opyard/detail/base/small_vector.h: SmallVector: a vector of words with inline storage.
//
// Made for sizes, strides and index lists: trivially copyable elements, mostly five or
// fewer. Beyond N it allocates through the seam.
//
//   ┌──────┬──────────┬───────────────────────────┐
//   │ size │ capacity │ N elements, or a pointer  │   capacity == N: in place
//   └──────┴──────────┴───────────────────────────┘
//
// Depends on: base/alloc.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <new>
#include <span>
#include <type_traits>

#include "opyard/base/alloc.h"

namespace opyard {

template <typename T, std::size_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T> && N > 0);

 public:
  SmallVector() noexcept {}
  SmallVector(std::initializer_list<T> values) : SmallVector(std::span<const T>(values)) {}
  explicit SmallVector(std::span<const T> values) { assign(values); }
  SmallVector(std::size_t count, const T& value) { resize(count, value); }
  SmallVector(const SmallVector& other) {
    if (other.in_place()) {
      copy_in_place(other);
    } else {
      copy_from_heap(other);
    }
  }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  ~SmallVector() { drop(); }

  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) assign(other);
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      drop();
      take(other);
    }
    return *this;
  }

  T* data() noexcept { return in_place() ? inline_ : heap_; }
  const T* data() const noexcept { return in_place() ? inline_ : heap_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* begin() noexcept { return data(); }
  T* end() noexcept { return data() + size_; }
  const T* begin() const noexcept { return data(); }
  const T* end() const noexcept { return data() + size_; }
  T& operator[](std::size_t i) noexcept { return data()[i]; }
  const T& operator[](std::size_t i) const noexcept { return data()[i]; }
  T& back() noexcept { return data()[size_ - 1]; }
  operator std::span<const T>() const noexcept { return {data(), size_}; }  // NOLINT
  bool operator==(const SmallVector& other) const noexcept {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

  void clear() noexcept { size_ = 0; }
  void push_back(const T& value) {
    const T copy = value;
    reserve(size_ + std::size_t{1});
    data()[size_++] = copy;
  }
  void resize(std::size_t count, const T& value = T{}) {
    const T copy = value;  // it may be in the memory that growing frees
    reserve(count);
    if (count > size_) std::fill(data() + size_, data() + count, copy);
    size_ = static_cast<std::uint32_t>(count);
  }
  void assign(std::span<const T> values) {
    reserve(values.size());
    // As data() has it, said so that GCC 12 sees the bounds.
    T* const to = values.size() > N ? heap_ : data();
    if (!values.empty()) std::memmove(to, values.data(), values.size_bytes());
    size_ = static_cast<std::uint32_t>(values.size());
  }
  void reserve(std::size_t count) {
    if (count > capacity_) grow(count);
  }

 private:
  static constexpr std::size_t kMostElements = UINT32_MAX;

  OPYARD_COLD void grow(std::size_t count) {
    if (count > kMostElements) throw std::bad_alloc();
    const std::size_t grown = std::min(std::max(count, std::size_t{capacity_} * 2), kMostElements);
    T* fresh = static_cast<T*>(allocate(grown * sizeof(T), alignof(T)));
    std::memcpy(static_cast<void*>(fresh), data(), size_ * sizeof(T));
    drop();
    heap_ = fresh;
    capacity_ = static_cast<std::uint32_t>(grown);
  }

  bool in_place() const noexcept { return capacity_ == N; }
  void drop() noexcept {
    if (!in_place()) deallocate(heap_, capacity_ * sizeof(T), alignof(T));
  }
  // All elements there is room for: a fixed number of bytes is copied without a call.
  void copy_in_place(const SmallVector& other) noexcept {
    size_ = other.size_;
    std::memcpy(static_cast<void*>(inline_), other.inline_, sizeof(inline_));
  }
  OPYARD_COLD void copy_from_heap(const SmallVector& other) { assign(other); }
  void take(SmallVector& other) noexcept {
    size_ = other.size_;
    capacity_ = other.capacity_;
    if (other.in_place()) {
      copy_in_place(other);
    } else {
      heap_ = other.heap_;
    }
    other.size_ = 0;
    other.capacity_ = N;
  }

  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = N;
  union {
    T inline_[N];
    T* heap_;
  };
};

}  // namespace opyard
