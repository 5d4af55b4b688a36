// ffi/call_memory.h: memory for what one call of a C function passes: structs, lists, texts.
//
// Depends on: base/alloc.h.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "opyard/base/alloc.h"

namespace opyard::ffi {

// The first kilobyte is in the object itself. Given back all at once. Used by one thread.
class CallMemory {
 public:
  CallMemory() noexcept {}  // leaves the bytes as they are
  CallMemory(const CallMemory&) = delete;
  CallMemory& operator=(const CallMemory&) = delete;
  ~CallMemory() {
    while (__builtin_expect(blocks_ != nullptr, 0)) {
      Block* const block = std::exchange(blocks_, blocks_->next);
      deallocate(block, block->bytes);
    }
  }

  // Room for `count` objects of T, which has no destructor to run; not null for none. Raises
  // bad_alloc.
  template <typename T>
  T* take(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= kAlignment);
    return static_cast<T*>(take_bytes(count * sizeof(T)));
  }

 private:
  static constexpr std::size_t kAlignment = alignof(std::max_align_t);
  struct alignas(kAlignment) Block {
    Block* next;
    std::size_t bytes;
  };

  void* take_bytes(std::size_t bytes) {
    const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (__builtin_expect(rounded > sizeof(bytes_) - used_, 0)) return take_block(rounded);
    void* const taken = bytes_ + used_;
    used_ += rounded;
    return taken;
  }
  void* take_block(std::size_t bytes) {
    auto* const block = static_cast<Block*>(allocate(sizeof(Block) + bytes));
    *block = {blocks_, sizeof(Block) + bytes};
    blocks_ = block;
    return block + 1;
  }

  alignas(kAlignment) std::byte bytes_[1024];
  std::size_t used_ = 0;
  Block* blocks_ = nullptr;
};

}  // namespace opyard::ffi
