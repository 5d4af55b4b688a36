// opyard/base/counted.h: objects that count their owners, and the pointer that does it.
//
// The count is atomic and is touched by CountedPtr alone. An object is born with one
// owner, make_counted() returns it, and the last owner to let go ends it, on whatever
// thread that happens. An only owner need not count: no one else can see the object.
//
//   CountedPtr<T>::steal(p)   takes over an owner that someone else gave up
//   CountedPtr<T>::share(p)   adds an owner
//   pointer.release()         gives the owner up without counting
//
// Depends on: base/alloc.h.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "opyard/base/alloc.h"
#include "opyard/base/export.h"

namespace opyard {

template <typename T>
class CountedPtr;

// Base of everything that is shared. Neither copied nor moved.
class OPYARD_API Counted {
 public:
  Counted() noexcept = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  // How many owners there are at this moment. Another thread may change it at once.
  std::uint32_t owner_count() const noexcept { return owners_.load(std::memory_order_relaxed); }

  // Whether the caller, who is an owner, is the only one, and no one can add another meanwhile.
  bool is_unshared() const noexcept {
    return owners_.load(std::memory_order_acquire) == 1 &&
           !watched_.load(std::memory_order_relaxed);
  }

  static void* operator new(std::size_t bytes) { return allocate(bytes); }
  static void operator delete(void* memory, std::size_t bytes) noexcept {
    deallocate(memory, bytes);
  }

 protected:
  virtual ~Counted();

  // The last owner has let go. An object may outlive it, if something else answers for it.
  virtual void end() const noexcept { delete this; }

  // From now on others may add an owner to one that they do not own, as WeakPtr does.
  void watch() const noexcept { watched_.store(true, std::memory_order_relaxed); }

  // For an end() that leaves the object to something else instead. That one waits until it is left,
  // and gives it an owner again. The caller must not touch it any more.
  void leave_without_owner() const noexcept { owners_.store(kLeft, std::memory_order_release); }
  bool is_left_without_owner() const noexcept {
    return owners_.load(std::memory_order_acquire) == kLeft;
  }
  void give_owner() const noexcept { owners_.store(1, std::memory_order_relaxed); }

 private:
  template <typename T>
  friend class CountedPtr;
  friend struct CountedAccess;

  void retain() const noexcept { owners_.fetch_add(1, std::memory_order_relaxed); }
  void release() const noexcept {
    if (owners_.load(std::memory_order_acquire) == 1) {
      release_only();
    } else if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      release_last();
    }
  }
  // For a caller that was the only owner a moment ago, and for one that was the last.
  void release_only() const noexcept;
  void release_last() const noexcept;

  static constexpr std::uint32_t kLeft = 0x8000'0000;

  mutable std::atomic<std::uint32_t> owners_{1};
  // Set once, by an owner, before the first WeakPtr to this object exists; see base/weak.cpp.
  mutable std::atomic<bool> watched_{false};
};

// For the few places that keep an owner in bytes of their own: Value and the C API; and for
// WeakPtr.
struct CountedAccess {
  static void retain(const Counted* object) noexcept { object->retain(); }
  static void release(const Counted* object) noexcept { object->release(); }
  // Adds an owner if there still is one.
  static bool retain_if_alive(const Counted* object) noexcept {
    std::uint32_t owners = object->owners_.load(std::memory_order_relaxed);
    while (owners != 0 && owners != Counted::kLeft) {
      if (object->owners_.compare_exchange_weak(owners, owners + 1, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }
  static void watch(const Counted* object) noexcept { object->watch(); }
};

template <typename T>
class CountedPtr {
 public:
  constexpr CountedPtr() noexcept = default;
  constexpr CountedPtr(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)
  CountedPtr(const CountedPtr& other) noexcept : object_(other.object_) { retain(); }
  CountedPtr(CountedPtr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <typename U>
    requires(std::convertible_to<U*, T*> && !std::same_as<T, U>)
  CountedPtr(CountedPtr<U> other) noexcept  // NOLINT(google-explicit-constructor)
      : object_(other.release()) {}
  ~CountedPtr() { drop(); }

  CountedPtr& operator=(CountedPtr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }

  static CountedPtr steal(T* object) noexcept {
    CountedPtr pointer;
    pointer.object_ = object;
    return pointer;
  }
  static CountedPtr share(T* object) noexcept {
    CountedPtr pointer = steal(object);
    pointer.retain();
    return pointer;
  }

  T* get() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  bool operator==(const CountedPtr& other) const noexcept { return object_ == other.object_; }

  // Empty before the object dies, so that its destructor may look at this pointer.
  void reset() noexcept { CountedPtr(std::move(*this)); }
  [[nodiscard]] T* release() noexcept { return std::exchange(object_, nullptr); }

 private:
  void retain() noexcept {
    if (object_ != nullptr) CountedAccess::retain(object_);
  }
  void drop() noexcept {
    if (object_ != nullptr) CountedAccess::release(object_);
  }

  T* object_ = nullptr;
};

// A new object with one owner. Raises what its constructor does, and std::bad_alloc.
template <std::derived_from<Counted> T, typename... Args>
CountedPtr<T> make_counted(Args&&... args) {
  return CountedPtr<T>::steal(new T(std::forward<Args>(args)...));
}

}  // namespace opyard
