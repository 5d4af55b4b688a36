// profiler/capture/journal.h: the journal of a capture in files: everything but events.
//
//   0         4       5
//   ┌─────────┬───────┬───────────────────────┐
//   │ bytes   │ kind  │ numbers and texts     │   a number has 8 bytes, a text its length before it
//   └─────────┴───────┴───────────────────────┘
//
// Each is one write to a file that is open for appending, so entries of several threads do not mix,
// and what was written is there if the process is killed.
//
// Depends on: profiler/capture.h.
#pragma once

#include <cstdint>
#include <string>

#include "opyard/profiler/capture.h"

namespace opyard::profiler {

enum class JournalKind : std::uint8_t {
  Process = 1,  // version, id, parent, clock, first pair, begin pair, calendar, program
  Name,         // key, line, identity, group, text, qualified, file, kind, extra
  Stack,        // handle, native id, count, and of each frame key and kind
  Thread,       // handle, native id, name
  Note,         // number, text
  End,          // pair
};
inline constexpr std::uint64_t kJournalVersion = 1;
inline constexpr const char* kJournalEnding = ".journal";
inline constexpr const char* kBlocksEnding = ".blocks";

// Begins the files of this process in the folder, and that of its children after a fork. Raises
// BadValue if they cannot be made.
void begin_files(const std::string& folder, const std::string& program);
// A session ends: what is captured from now on is of no one.
void end_files(const Capture& capture);

}  // namespace opyard::profiler
