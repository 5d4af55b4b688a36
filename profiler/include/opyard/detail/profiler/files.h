// opyard/detail/profiler/files.h: captures in files, which outlive their process.
//
// A session with a folder writes there what is captured, too. Each process has two files: one of
// blocks, which is mapped and so has each event that was written, and a journal of everything
// else: names, the stacks at the begin, the clock. A child of fork() begins files of its own with
// its first event, and captures until it ends.
//
// One who reads a folder, after its processes have ended or while they go on, gets a capture of
// each. A file that was damaged loses events, and is no error.
//
// Depends on: profiler/profile.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "opyard/profiler/profile.h"

namespace opyard::profiler {

// Whether what this process captures is written to files.
OPYARD_API bool writes_files() noexcept;
// Stacks of a child, at its begin.
OPYARD_API void write_start_stacks(const std::vector<StartStack>& stacks);
// What a thread is called, as long as it says nothing else. Without files nothing; so below.
OPYARD_API void write_thread_name(const ThreadName& thread);
// For the report of quality, by a process that may not reach its end.
OPYARD_API void write_note(const std::string& text, std::uint64_t number);

struct ProcessCapture {
  std::int64_t id = 0;
  std::int64_t parent = 0;
  std::string program;
  bool has_ended = false;  // its session did; else it was killed, or goes on
  Capture capture;
};

// Of each process but one, in the order in which they began. Raises BadValue if there is no such
// folder.
OPYARD_API std::vector<ProcessCapture> load_captures(const std::string& folder,
                                                     std::int64_t without = 0);
// As tracks of the profile, whose times these are.
OPYARD_API void add_process(Profile& profile, const ProcessCapture& process);

}  // namespace opyard::profiler
