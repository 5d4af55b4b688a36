// base/alloc.cpp: the default allocator, the replacement of it, and the live count.
#include "opyard/base/alloc.h"

#include <atomic>
#include <cstdlib>
#include <new>

#include "base/block_lists.h"
#include "opyard/detail/base/free_list.h"

namespace opyard {

constinit std::atomic<bool> detail::memory_is_plain{true};

namespace {

void* default_allocate(std::size_t bytes, std::size_t alignment) {
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void default_deallocate(void* memory, std::size_t, std::size_t) { std::free(memory); }

constexpr Allocator kDefault{default_allocate, default_deallocate};

constinit std::atomic<const Allocator*> current_allocator{&kDefault};
// Four lock instructions in the life of a block, if it is on.
constinit std::atomic<bool> counting{false};
constinit std::atomic<std::size_t> live_bytes{0};
constinit std::atomic<std::size_t> live_blocks{0};

void look_at_memory() noexcept {
  const bool plain = current_allocator.load(std::memory_order_relaxed) == &kDefault &&
                     !counting.load(std::memory_order_relaxed);
  detail::memory_is_plain.store(plain, std::memory_order_relaxed);
}

void count_block(std::size_t bytes) noexcept {
  live_bytes.fetch_add(bytes, std::memory_order_relaxed);
  live_blocks.fetch_add(1, std::memory_order_relaxed);
}
void count_block_back(std::size_t bytes) noexcept {
  live_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  live_blocks.fetch_sub(1, std::memory_order_relaxed);
}

// What threads keep for later is wanted now.
OPYARD_COLD void* allocate_once_more(std::size_t bytes, std::size_t alignment) {
  void* memory = nullptr;
  if (detail::empty_block_lists()) {
    memory = current_allocator.load(std::memory_order_acquire)->allocate(bytes, alignment);
  }
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

const Allocator* set_allocator(const Allocator* allocator) noexcept {
  const Allocator* const former = current_allocator.exchange(
      allocator == nullptr ? &kDefault : allocator, std::memory_order_acq_rel);
  look_at_memory();
  if (allocator != nullptr) static_cast<void>(detail::empty_block_lists());
  return former;
}

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (bytes == 0) bytes = 1;
  void* memory = current_allocator.load(std::memory_order_acquire)->allocate(bytes, alignment);
  if (memory == nullptr) memory = allocate_once_more(bytes, alignment);
  if (__builtin_expect(counting.load(std::memory_order_relaxed), 0)) count_block(bytes);
  return memory;
}

void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept {
  if (memory == nullptr) return;
  if (bytes == 0) bytes = 1;
  if (__builtin_expect(counting.load(std::memory_order_relaxed), 0)) count_block_back(bytes);
  current_allocator.load(std::memory_order_acquire)->deallocate(memory, bytes, alignment);
}

AllocationCount live_allocations() noexcept {
  counting.store(true, std::memory_order_relaxed);
  look_at_memory();
  return {live_bytes.load(std::memory_order_relaxed), live_blocks.load(std::memory_order_relaxed)};
}

}  // namespace opyard
