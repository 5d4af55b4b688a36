// opyard/detail/base/made_once.h: MadeOnce: lazily made object that is never destroyed.
//
//   static constinit MadeOnce<Names> names;
//   return names.get([] { return std::make_unique<const Names>(…); });
//
// A static that a function initialises has a guard that a second thread waits for. If a thread
// holds it while another one forks, the child waits for ever. Here two threads may make the object
// at once, and the one that comes second drops its own.
//
// Depends on: nothing else of ours.
#pragma once

#include <atomic>
#include <memory>

namespace opyard {

template <typename T>
class MadeOnce {
 public:
  constexpr MadeOnce() noexcept = default;
  MadeOnce(const MadeOnce&) = delete;
  MadeOnce& operator=(const MadeOnce&) = delete;

  // `make` gives a std::unique_ptr<const T>, and may throw.
  template <typename Make>
  const T& get(const Make& make) {
    if (const T* const known = object_.load(std::memory_order_acquire)) return *known;
    std::unique_ptr<const T> fresh = make();
    const T* there = nullptr;
    if (object_.compare_exchange_strong(there, fresh.get(), std::memory_order_acq_rel)) {
      return *fresh.release();
    }
    return *there;
  }

 private:
  std::atomic<const T*> object_{nullptr};
};

}  // namespace opyard
