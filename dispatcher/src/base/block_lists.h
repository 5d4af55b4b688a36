// base/block_lists.h: free lists of tensor memory of a thread: taking and returning blocks.
//
// [Sizes] Four sizes to each doubling, from 64 bytes to 64 MiB: a block is at most a quarter larger
// than what was asked for. Larger memory is not cached.
//
// Depends on: base/alloc.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace opyard::detail {

// Aligned to a cache line. `size_class` is what give_back_block() wants; 0 if the memory is to go
// back through opyard::deallocate(). Throws std::bad_alloc.
void* take_block(std::size_t bytes, std::uint8_t& size_class);
void give_back_block(void* memory, std::uint8_t size_class) noexcept;

// For base/alloc.cpp: whether anything was given back to the system.
bool empty_block_lists() noexcept;

}  // namespace opyard::detail
