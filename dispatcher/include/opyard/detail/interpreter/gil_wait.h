// opyard/detail/interpreter/gil_wait.h: listener for waits for a GIL.
//
// Told of waits in Opyard's own gate alone: a thread that comes into Python from C++, or goes back
// there after a kernel that had released the lock. There is one listener at most, a profile.
//
// Depends on: base/export.h.
#pragma once

#include <atomic>

#include "opyard/base/export.h"

namespace opyard {

// On the thread that waits. A thread that Python ends while it waits is not told of its end.
using GilWaitListener = void (*)(bool begins) noexcept;
extern OPYARD_API std::atomic<GilWaitListener> gil_wait_listener;

// Tells that a wait begins and, when it is destroyed, that it has ended.
class GilWait {
 public:
  GilWait() noexcept : listener_(gil_wait_listener.load(std::memory_order_relaxed)) {
    if (listener_ != nullptr) listener_(true);
  }
  GilWait(const GilWait&) = delete;
  GilWait& operator=(const GilWait&) = delete;
  ~GilWait() {
    if (listener_ != nullptr) listener_(false);
  }

 private:
  const GilWaitListener listener_;
};

}  // namespace opyard
