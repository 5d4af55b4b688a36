// profiler/files/journal_reader.h: reading the journal of one process.
//
// Depends on: capture/journal.h, detail/profiler/files.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "capture/journal.h"
#include "opyard/detail/profiler/files.h"
#include "opyard/profiler/names.h"

namespace opyard::profiler {

struct JournalFrame {
  std::uint64_t key;
  std::uint64_t kind;
};
struct JournalStack {
  std::uint64_t handle = 0;
  std::int64_t native_id = 0;
  std::vector<JournalFrame> frames;
};

// What a process has written. Its keys are its own.
struct Journal {
  std::filesystem::path blocks;  // the file of its events
  std::uint64_t clock = 0;
  ProcessCapture process;
  std::vector<std::pair<std::uint64_t, Name>> names;
  std::vector<std::uint64_t> groups;  // of each name
  std::vector<JournalStack> stacks;
  std::optional<ClockPair> end;  // of none that was killed

  bool is_known() const { return process.id != 0; }
};

// Never fails: what cannot be read is not there. An entry in part is the last one of a process that
// was killed.
Journal read_journal(const std::filesystem::path& path);

}  // namespace opyard::profiler
