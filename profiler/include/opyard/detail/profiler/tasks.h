// opyard/detail/profiler/tasks.h: tracks of asyncio tasks, from the coroutines that ran on threads.
//
// Behind the enter of a coroutine there is one word: which coroutine it is, and the name of its
// task if a task runs it. A task that sets no name of its own is called "Task-5": its number is
// stored apart, so that a million tasks have one name. Each task gets a track: one span from its
// first run to its last, inside it one for each time that it awaited something. Such a track is
// made of others, so tables leave it out.
//
// Depends on: profiler/profile.h.
#pragma once

#include <cstdint>

#include "opyard/profiler/profile.h"

namespace opyard::profiler {

struct CoroutineFacts {
  std::uint32_t task = 0;  // the key of the task's name, or 0 if it is awaited by another coroutine
  std::uint32_t number = 0;    // of a task without a name of its own
  std::uint64_t identity = 0;  // never given twice

  Payload word() const noexcept { return {std::uint64_t{number} << 32 | task, identity}; }
  static CoroutineFacts read(Payload word) noexcept {
    return {std::uint32_t(word.first), std::uint32_t(word.first >> 32), word.second};
  }
};

// Appends the tracks of the tasks. Throws std::bad_alloc.
void add_task_tracks(Profile& profile);

}  // namespace opyard::profiler
