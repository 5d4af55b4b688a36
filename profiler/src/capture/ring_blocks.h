// profiler/capture/ring_blocks.h: blocks of the ring buffer.
//
// Depends on: profiler/capture.h.
#pragma once

#include <cstdint>

#include "opyard/profiler/capture.h"

namespace opyard::profiler {

// From now on threads keep what they write, to so many blocks in all, of which none has ended
// longer ago than that.
void begin_ring_blocks(std::uint64_t blocks, std::uint64_t ticks);
void end_ring_blocks();
// What is in the ring of each thread. The window is open: it holds what is copied. Throws
// std::bad_alloc.
Capture copy_ring_blocks(Window& window);

}  // namespace opyard::profiler
