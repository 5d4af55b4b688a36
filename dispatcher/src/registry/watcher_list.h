// registry/watcher_list.h: the watchers of a process.
//
// Written under the registry's lock (registry/watching.cpp), read by calls without it
// (registry/observed_call.cpp).
//
// Depends on: registry/watch.h.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "opyard/detail/registry/watch.h"

namespace opyard {

struct WatcherList {
  static constexpr unsigned kMost = 8;
  std::atomic<std::uint8_t> on{0};  // a bit for each that watches, set after its watcher is stored
  std::atomic<Watcher*> list[kMost]{};

  template <typename Tell>
  void tell(std::uint8_t which, const Tell& what) noexcept {
    for (unsigned rest = which; rest != 0; rest &= rest - 1) {
      what(*list[std::countr_zero(rest)].load(std::memory_order_relaxed));
    }
  }
};
extern constinit WatcherList watchers;

}  // namespace opyard
