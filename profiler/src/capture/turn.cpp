// profiler/capture/turn.cpp: serialises starting and stopping of captures.
//
// No lock: the one who has the turn may wait for the GIL, which no one may do who holds a lock. The
// turn of a thread that is not there in the child of a fork has ended with it.
#include "capture/turn.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>

#include "opyard/base/error.h"
#include "opyard/interpreter/gil.h"

namespace opyard::profiler {
namespace {

std::atomic<std::uint64_t> owner{0};  // its pthread_self()
std::atomic<int> process{0};          // of the owner

// Whether it is this thread's now.
bool take(std::uint64_t self) {
  std::uint64_t other = 0;
  if (owner.compare_exchange_strong(other, self)) {
    process.store(::getpid());
    return true;
  }
  const int its_process = process.load();
  if (its_process != 0 && its_process != ::getpid()) {  // alone in the child, or nearly
    process.store(::getpid());
    owner.store(self);
    return true;
  }
  OPYARD_CHECK(other != self, BadRegistration,
               "this thread is just starting or stopping a profile or a flight recorder; what that "
               "runs must not start or stop another one");
  return false;
}

}  // namespace

Turn::Turn() {
  const auto self = std::uint64_t(pthread_self());
  if (take(self)) return;
  const GilReleased released;
  while (!take(self)) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

Turn::~Turn() {
  process.store(0);
  owner.store(0);
}

}  // namespace opyard::profiler
