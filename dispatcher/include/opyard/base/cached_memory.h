// opyard/base/cached_memory.h: cache of freed tensor memory.
//
// Fresh pages cost more than the arithmetic that fills them, so a thread caches what it freed
// and uses it again for tensors of about that size: up to 64 MiB a thread and 256 MiB a process.
// A thread's blocks go back to the system when it ends, and all of them if an allocation fails,
// which is then tried again. Nothing is cached with an allocator of the host, while allocations are
// counted (base/alloc.h), and under the address and the thread sanitizer.
//
// Any function may be called on any thread.
//
// Depends on: base/export.h.
#pragma once

#include <cstddef>

#include "opyard/base/export.h"

namespace opyard {

// Of all threads, at about the time of the call.
struct CachedMemory {
  std::size_t bytes;   // that wait
  std::size_t hits;    // tensors that were given memory that had waited
  std::size_t misses;  // tensors for which none of their size was waiting
};
// What is kept now of memory that was freed.
OPYARD_API CachedMemory cached_memory() noexcept;

// Gives the blocks of all threads back to the system; says how many bytes that were.
OPYARD_API std::size_t empty_cached_memory() noexcept;

}  // namespace opyard
