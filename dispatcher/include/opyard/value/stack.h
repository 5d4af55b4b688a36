// opyard/value/stack.h: the values of boxed calls.
//
// A stack is a window over memory of its caller, and moves to memory of its own only if
// that is too small. Arguments are on top in schema order; a call replaces them by its
// results and never touches what is below. A call that throws has consumed its arguments;
// what is below stays.
//
//     bottom                                   top
//       ┌─────────────┬───────────────────────┐
//       │ the caller's│ arg 0   …    arg n-1  │  - - - - free
//       └─────────────┴───────────────────────┘
//                       └ top(n) ┘
//
// Depends on: value/value.h.
#pragma once

#include <cstddef>
#include <new>
#include <span>
#include <utility>

#include "opyard/value/value.h"

namespace opyard {

class OPYARD_API Stack {
 public:
  // An empty stack without memory; the first push allocates.
  Stack() noexcept = default;
  // An empty stack over `capacity` values of raw memory that outlives it.
  Stack(void* memory, std::size_t capacity) noexcept
      : bottom_(static_cast<Value*>(memory)), size_(0), capacity_(capacity) {}
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  ~Stack() {
    drop(size_);
    if (__builtin_expect(grown_, 0)) give_back();
  }

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

  void push(Value value) {
    if (__builtin_expect(size_ == capacity_, 0)) grow();
    new (bottom_ + size_++) Value(std::move(value));
  }
  // A tensor that outlives the call this stack is made for; it is not counted.
  void borrow(const Tensor& tensor) {
    if (__builtin_expect(size_ == capacity_, 0)) grow();
    new (bottom_ + size_++) Value(Value::borrow(tensor));
  }
  // The same of any value.
  void borrow(const Value& value) {
    if (__builtin_expect(size_ == capacity_, 0)) grow();
    new (bottom_ + size_++) Value(Value::borrow(value));
  }

  // The topmost `count` values, first one first. Raises BadArgument if there are fewer.
  std::span<Value> top(std::size_t count) {
    if (__builtin_expect(count > size_, 0)) refuse(count);
    return {bottom_ + size_ - count, count};
  }
  // The value `depth` below the top (0 is the top).
  Value& peek(std::size_t depth = 0) { return top(depth + 1)[0]; }
  Value& operator[](std::size_t from_bottom) noexcept { return bottom_[from_bottom]; }

  Value pop() {
    Value value = std::move(peek());
    drop(1);
    return value;
  }
  void drop(std::size_t count) noexcept {
    for (; count > 0 && size_ > 0; --count) bottom_[--size_].~Value();
  }
  // Puts one value in the place of the topmost `count`, as a call does with its arguments.
  void replace(std::size_t count, Value value) {
    if (__builtin_expect(count == 0 || size_ < count, 0)) {
      drop(count);
      push(std::move(value));
      return;
    }
    drop(count - 1);
    bottom_[size_ - 1] = std::move(value);
  }
  // The same for what top() gave, at least one, with nothing pushed or dropped since.
  void replace(std::span<Value> topmost, Value&& value) noexcept {
    for (std::size_t i = topmost.size(); --i > 0;) topmost[i].~Value();
    size_ -= topmost.size() - 1;
    topmost[0] = std::move(value);
  }
  // Drops everything above the first `size` values.
  void truncate(std::size_t size) noexcept {
    if (size_ > size) drop(size_ - size);
  }

 private:
  OPYARD_COLD void grow();
  OPYARD_COLD void give_back() noexcept;
  [[noreturn]] OPYARD_COLD void refuse(std::size_t count) const;

  Value* bottom_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  bool grown_ = false;
};

// A stack with room for N values in itself.
template <std::size_t N>
class InlineStack : public Stack {
 public:
  InlineStack() noexcept : Stack(memory_, N) {}
  ~InlineStack() { truncate(0); }

 private:
  alignas(Value) std::byte memory_[N * sizeof(Value)];
};

}  // namespace opyard
