// opyard/tensor/memory_listener.h: listener for tensor memory: allocation, release, failure.
//
// There is one listener at most, a profile. While there is none, taking memory costs one load more,
// and so does giving it back. Memory that others own, which a storage adopts, is not told of.
//
// Depends on: tensor/device.h.
#pragma once

#include <atomic>
#include <cstddef>

#include "opyard/base/export.h"
#include "opyard/tensor/device.h"

namespace opyard {

// Told on the thread that takes or gives back, which may hold any lock.
struct MemoryListener {
  void (*taken)(const void* address, std::size_t bytes, Device device) noexcept;
  void (*given_back)(const void* address, std::size_t bytes, Device device) noexcept;
  void (*refused)(std::size_t bytes, Device device) noexcept;  // there is not as much left
};

// Of static storage, since a thread may be about to tell it whenever it is replaced; or null.
extern OPYARD_API std::atomic<const MemoryListener*> memory_listener;

inline void tell_taken(const void* address, std::size_t bytes, Device device) noexcept {
  const MemoryListener* const listener = memory_listener.load(std::memory_order_relaxed);
  if (__builtin_expect(listener != nullptr, 0)) listener->taken(address, bytes, device);
}
inline void tell_given_back(const void* address, std::size_t bytes, Device device) noexcept {
  const MemoryListener* const listener = memory_listener.load(std::memory_order_relaxed);
  if (__builtin_expect(listener != nullptr, 0)) listener->given_back(address, bytes, device);
}
inline void tell_refused(std::size_t bytes, Device device) noexcept {
  const MemoryListener* const listener = memory_listener.load(std::memory_order_relaxed);
  if (listener != nullptr) listener->refused(bytes, device);
}

}  // namespace opyard
