// value/weak_value.cpp: locking a weak value.
#include "opyard/value/weak_value.h"

namespace opyard {

WeakValue::WeakValue(const Value& value) : kind_(value.kind()) {
  if (is_heap(kind_) && value.object_unchecked() != nullptr) {
    object_ = WeakPtr<Counted>(CountedPtr<Counted>::share(value.object_unchecked()));
  } else {
    plain_ = value;
  }
}

Value WeakValue::lock() const noexcept {
  if (!is_heap(kind_) || plain_.kind() == kind_) return plain_;
  CountedPtr<Counted> object = object_.lock();
  if (!object) return Value();
  Value value(kind_);
  value.own(object.release());
  return value;
}

}  // namespace opyard
