// profiler/capture/mapped_blocks.cpp: growing and mapping a capture file.
#include "capture/mapped_blocks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "opyard/base/file_error.h"

namespace opyard::profiler {

std::unique_ptr<MappedBlocks> MappedBlocks::create(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) fail_file(errno, path, "the file " + path + " for what is captured cannot be made");
  return std::unique_ptr<MappedBlocks>(new MappedBlocks(file));
}

MappedBlocks::~MappedBlocks() {
  for (const auto& [map, blocks] : maps_) ::munmap(map, blocks * sizeof(BlockData));
  if (file_ >= 0) ::close(file_);
}

// Twice as much each time, from 256 KiB to 8 MiB: most processes write little.
bool MappedBlocks::grow() noexcept {
  constexpr std::size_t kLeast = 4;
  constexpr std::size_t kMost = 128;
  const std::size_t more = std::clamp(blocks_, kLeast, kMost);
  const auto size = more * sizeof(BlockData);
  const auto at = off_t(blocks_ * sizeof(BlockData));
  try {
    maps_.reserve(maps_.size() + 1);
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (::posix_fallocate(file_, at, off_t(size)) != 0) return false;
  void* const map = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_, at);
  if (map == MAP_FAILED) return false;
  maps_.emplace_back(static_cast<BlockData*>(map), more);
  next_ = static_cast<BlockData*>(map);
  left_ = more;
  blocks_ += more;
  return true;
}

BlockData* MappedBlocks::take() noexcept {
  if (left_ == 0 && (is_full_ || !grow())) {
    is_full_ = true;
    return nullptr;
  }
  --left_;
  ++held_;
  return next_++;
}

void MappedBlocks::give_back() noexcept {
  if (--held_ == 0 && is_closed_) delete this;
}

void MappedBlocks::close() noexcept {
  is_closed_ = true;
  if (held_ == 0) delete this;
}

}  // namespace opyard::profiler
