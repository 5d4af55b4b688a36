// value/stack.cpp: Stack: growth past its inline part, and errors.
#include "opyard/value/stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "opyard/base/alloc.h"

namespace opyard {

void Stack::grow() {
  constexpr std::size_t kFirstCapacity = 8;
  const std::size_t capacity = std::max(kFirstCapacity, capacity_ * 2);
  void* memory = allocate(capacity * sizeof(Value), alignof(Value));
  // Values are relocated as bytes, so that a borrowed one stays borrowed. The old bytes are then
  // raw memory again: nothing is destroyed there.
  if (size_ > 0) std::memcpy(memory, static_cast<const void*>(bottom_), size_ * sizeof(Value));
  give_back();
  bottom_ = static_cast<Value*>(memory);
  capacity_ = capacity;
  grown_ = true;
}

void Stack::give_back() noexcept {
  if (grown_) deallocate(bottom_, capacity_ * sizeof(Value), alignof(Value));
}

void Stack::refuse(std::size_t count) const {
  fail(ErrorKind::BadArgument,
       fmt::format("the stack has {} value{} but {} {} asked for; arguments are pushed in schema "
                   "order before a call, and results replace them",
                   size_, size_ == 1 ? "" : "s", count, count == 1 ? "was" : "were"));
}

}  // namespace opyard
