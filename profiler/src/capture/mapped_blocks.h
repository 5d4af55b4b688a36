// profiler/capture/mapped_blocks.h: blocks that are parts of a mapped file.
//
// What is written to them is in the file, whatever becomes of the process. Room on the disk is
// taken before it is mapped, since a write to a page without room would end the program.
//
// Threads: under the lock of all streams. Depends on: profiler/stream.h.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "opyard/profiler/stream.h"

namespace opyard::profiler {

class MappedBlocks {
 public:
  // A new file. Raises BadValue if it cannot be made.
  static std::unique_ptr<MappedBlocks> create(const std::string& path);
  MappedBlocks(const MappedBlocks&) = delete;
  MappedBlocks& operator=(const MappedBlocks&) = delete;
  ~MappedBlocks();

  // Zeros; null if there is no room for it.
  BlockData* take() noexcept;
  // No one will read one of the blocks through the map any more. May delete this.
  void give_back() noexcept;
  // None will be taken any more. Deletes this with the last block that is given back.
  void close() noexcept;

 private:
  explicit MappedBlocks(int file) : file_(file) {}
  bool grow() noexcept;

  int file_;
  std::vector<std::pair<BlockData*, std::size_t>> maps_;
  BlockData* next_ = nullptr;  // of the last map
  std::size_t left_ = 0;
  std::size_t blocks_ = 0;  // in the file
  std::size_t held_ = 0;
  bool is_full_ = false;
  bool is_closed_ = false;
};

}  // namespace opyard::profiler
