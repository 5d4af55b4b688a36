// profiler/capture/file_blocks.h: blocks of streams that are parts of a mapped file.
//
// Depends on: profiler/capture.h, capture/mapped_blocks.h.
#pragma once

#include <cstdint>
#include <memory>

#include "capture/mapped_blocks.h"
#include "opyard/profiler/capture.h"

namespace opyard::profiler {

void begin_file_blocks(std::unique_ptr<MappedBlocks> file);
void end_file_blocks();
// How many had no room in a file.
std::uint64_t blocks_beside_file();
ClockPair first_clock_pair();
// Zeroed by no one; of one owner. Throws std::bad_alloc.
Block* make_memory_block();

}  // namespace opyard::profiler
