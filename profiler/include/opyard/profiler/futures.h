// opyard/profiler/futures.h: futures as spans: from when they are watched until they are completed.
//
// A future is completed on any thread, so it is part of no thread's stack. The watched ones of a
// profile have tracks of their own, as few as there were pending at once.
//
// Depends on: profiler/profile.h, value/future.h.
#pragma once

#include <cstdint>
#include <string>

#include "opyard/profiler/profile.h"
#include "opyard/value/future.h"

namespace opyard::profiler {

// Any future, of whatever sort: the one who watches calls end_future() when it is completed, on
// that thread, with what begin_future() gave. The name is a key of profiler/names.h.
OPYARD_API std::uint64_t begin_future(std::uint32_t name) noexcept;
OPYARD_API void end_future(std::uint32_t name, std::uint64_t number) noexcept;

// A future of Opyard. Does nothing while there is no session.
OPYARD_API void watch_future(FutureObject& future, const std::string& name);
template <typename T>
void watch_future(const Future<T>& future, const std::string& name) {
  watch_future(*future.object(), name);
}

// Appends the tracks of the futures, whose marks go. Throws std::bad_alloc.
void add_future_tracks(Profile& profile);

}  // namespace opyard::profiler
