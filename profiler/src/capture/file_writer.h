// profiler/capture/file_writer.h: the writer of a capture's files, as streams and names see it.
//
// Depends on: profiler/names.h.
#pragma once

#include <atomic>
#include <cstdint>

#include "opyard/profiler/names.h"

namespace opyard::profiler {

class FileWriter {
 public:
  // In the child of a fork, whose files are its own.
  virtual void leave_files_of_parent() noexcept = 0;
  // If no lock of the profiler's is held.
  virtual void before_new_block() noexcept = 0;
  // Of a name that is new.
  virtual void keep_name(std::uint32_t key, const Name& name) noexcept = 0;

 protected:
  ~FileWriter() = default;
};

// Null until a capture of this process, or of one that it was forked from, is written to files;
// then the same for ever.
inline std::atomic<FileWriter*> file_writer{nullptr};

}  // namespace opyard::profiler
