// opyard/value/weak_value.h: weak references to values.
//
// Depends on: base/weak.h, value/value.h.
#pragma once

#include "opyard/base/weak.h"
#include "opyard/value/value.h"

namespace opyard {

// A value that is in its 16 bytes is copied as it is; of others the object is watched.
class OPYARD_API WeakValue {
 public:
  // None, which never expires.
  WeakValue() noexcept = default;
  // Raises std::bad_alloc.
  explicit WeakValue(const Value& value);

  // The value, or None if its object has died.
  Value lock() const noexcept;
  // Whether its object has died. Where this says no, that may change at once.
  bool expired() const noexcept { return is_heap(kind_) && lock().is_none(); }
  // Of the value that was there.
  Kind kind() const noexcept { return kind_; }

 private:
  Kind kind_ = Kind::None;
  Value plain_;              // a value without an object
  WeakPtr<Counted> object_;  // else
};

}  // namespace opyard
