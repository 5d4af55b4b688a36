// opyard/base/weak.h: weak references to counted objects.
//
//   WeakPtr<TensorImpl> weak(tensor.impl());
//   if (const CountedPtr<TensorImpl> impl = weak.lock()) …      it is still there, and stays
//
// Objects that no one watches pay nothing but one flag. Making and locking a WeakPtr takes a
// lock of the process: it is for caches and observers, not for calls.
//
// Depends on: base/counted.h.
#pragma once

#include "opyard/base/counted.h"

namespace opyard {

namespace detail {

// Shared by all who watch one object. base/weak.cpp updates it.
class OPYARD_API WeakCell final : public Counted {
 public:
  // The cell of an object that the caller owns. Raises std::bad_alloc.
  static CountedPtr<WeakCell> of(const Counted* object);
  // Watched itself: a thread that finds it in the table adds an owner without owning it.
  explicit WeakCell(const Counted* object) noexcept : object_(object) { watch(); }
  ~WeakCell() override;

  // The object with one more owner, or null if it has died.
  const Counted* lock() const noexcept;

 private:
  friend void forget_watched(const Counted* object) noexcept;

  const Counted* object_;  // guarded by the lock of base/weak.cpp; null once the object has died
};

}  // namespace detail

// Copied and destroyed by any thread.
template <typename T>
class WeakPtr {
 public:
  // Watches nothing, and is expired.
  WeakPtr() noexcept = default;
  // Watches the object; a null pointer watches nothing. Raises std::bad_alloc.
  explicit WeakPtr(const CountedPtr<T>& object)
      : cell_(object ? detail::WeakCell::of(object.get()) : nullptr), object_(object.get()) {}

  // An owner of the object, or null if it has died.
  CountedPtr<T> lock() const noexcept {
    if (!cell_ || cell_->lock() == nullptr) return nullptr;
    return CountedPtr<T>::steal(object_);
  }
  // Whether the last owner has let go. Where this says no, that may change at once.
  bool expired() const noexcept { return !lock(); }

 private:
  CountedPtr<detail::WeakCell> cell_;
  T* object_ = nullptr;  // only followed while the cell vouches for it
};

}  // namespace opyard
