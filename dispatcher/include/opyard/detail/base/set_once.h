// opyard/detail/base/set_once.h: SetOnce: an owner that is set at most once.
//
//   SetOnce<Counted> state;
//   state.get()              null, or the object
//   state.set(my_object)     the object that is there from now on, another thread's if it was first
//
// Reading is one load. Any thread may read and set.
//
// Depends on: base/counted.h.
#pragma once

#include <atomic>

#include "opyard/base/counted.h"

namespace opyard {

template <typename T>
class SetOnce {
 public:
  constexpr SetOnce() noexcept = default;
  SetOnce(const SetOnce&) = delete;
  SetOnce& operator=(const SetOnce&) = delete;
  ~SetOnce() {
    if (T* const object = object_.load(std::memory_order_relaxed)) CountedAccess::release(object);
  }

  T* get() const noexcept { return object_.load(std::memory_order_acquire); }
  explicit operator bool() const noexcept { return get() != nullptr; }
  T& set(CountedPtr<T> object) noexcept {
    T* there = nullptr;
    if (object_.compare_exchange_strong(there, object.get(), std::memory_order_acq_rel)) {
      return *object.release();
    }
    return *there;
  }
  // The same for an empty one that no other thread can see: a store, and no locked instruction.
  T& set_unshared(CountedPtr<T> object) noexcept {
    object_.store(object.get(), std::memory_order_release);
    return *object.release();
  }

 private:
  std::atomic<T*> object_{nullptr};
};

}  // namespace opyard
