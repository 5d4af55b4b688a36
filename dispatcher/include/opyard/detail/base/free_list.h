// opyard/detail/base/free_list.h: free lists: memory of dead objects of a class, reused.
//
// As a rule a tensor lives for a call or two, and malloc and free are a fifth of the instructions
// of such a life (bench row fresh). So each thread caches a few blocks that it freed, of the one
// size that it takes from here. Nothing is cached if that would hide frees: with an allocator of
// the host's, while allocations are counted, under the address sanitizer, and on a thread about
// to end.
//
//   constinit __thread FreeList spare __attribute__((tls_model("initial-exec"))) = {};
//   void* Thing::operator new(std::size_t bytes) { return spare.allocate(bytes); }
//
// Depends on: base/alloc.h.
#pragma once

#include <atomic>
#include <cstdint>

#include "opyard/base/alloc.h"
#include "opyard/base/export.h"

namespace opyard::detail {

// Whether memory comes from malloc and no one counts it; base/alloc.cpp.
extern OPYARD_API constinit std::atomic<bool> memory_is_plain;

// One for each thread and class. All blocks have the same size, and malloc's alignment.
class FreeList {
 public:
  constexpr FreeList() noexcept = default;
  // Keeps so many blocks at most.
  explicit constexpr FreeList(std::uint32_t most) noexcept : most_(most) {}

  void* allocate(std::size_t bytes) {
    if (first_ == nullptr || !memory_is_plain.load(std::memory_order_relaxed)) {
      return opyard::allocate(bytes);
    }
    ++room_;
    Block* const block = first_;
    first_ = block->next;
    return block;
  }
  void deallocate(void* memory, std::size_t bytes) noexcept {
    if (room_ > 0 && memory_is_plain.load(std::memory_order_relaxed)) {
      --room_;
      first_ = new (memory) Block{first_};
    } else {
      deallocate_otherwise(memory, bytes);
    }
  }

 private:
  friend struct FreeListsOfThread;
  struct Block {
    Block* next;
  };

  OPYARD_API void deallocate_otherwise(void* memory, std::size_t bytes) noexcept;
  void give_back() noexcept;

  Block* first_ = nullptr;
  std::uint32_t most_ = 16;
  std::uint32_t room_ = 0;  // for how many more
  bool is_known_ = false;   // to the end of its thread
};

}  // namespace opyard::detail
