// opyard/base/alloc.h: the allocator through which Opyard takes memory.
//
// Counted objects, tensor data, stacks that outgrow their window and registry records
// are allocated here. A host can put its own allocator in; a test can make the n-th
// allocation fail and see that nothing is lost.
//
// Depends on: base/export.h.
#pragma once

#include <cstddef>

#include "opyard/base/export.h"

namespace opyard {

// Both functions may be called from any thread. `allocate` returns null on failure.
struct Allocator {
  void* (*allocate)(std::size_t bytes, std::size_t alignment);
  void (*deallocate)(void* memory, std::size_t bytes, std::size_t alignment);
};

// Replaces the allocator and returns the former one. Memory is given back to the
// allocator that is current then, so a replacement must accept the former one's blocks
// or be put in before anything was allocated.
OPYARD_API const Allocator* set_allocator(const Allocator* allocator) noexcept;

// At least one byte, aligned as asked (a power of two). Throws std::bad_alloc.
OPYARD_API void* allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t));
OPYARD_API void deallocate(void* memory, std::size_t bytes,
                           std::size_t alignment = alignof(std::max_align_t)) noexcept;

// Bytes and blocks that were allocated here and not yet given back, for tests that compare two of
// these. Counting begins with the first call of live_allocations(): until then no one pays for it.
struct AllocationCount {
  std::size_t bytes;
  std::size_t blocks;
};
// What was allocated through this file and lives now.
OPYARD_API AllocationCount live_allocations() noexcept;

}  // namespace opyard
