// value/heap_values.cpp: destruction of heap values.
#include "opyard/value/heap_values.h"

#include <new>

#include "opyard/detail/value/dict_object.h"
#include "value/dismantle.h"
#include "value/hashing.h"

namespace opyard {

ListObject::ListObject(std::vector<Value> values) : items(std::move(values)) {}

ListObject::~ListObject() {
  detail::Dismantler dismantler;
  for (Value& item : items) dismantler.take(item);
}

CountedPtr<CapsuleObject> CapsuleObject::adopt(void* pointer, std::string_view name, void* context,
                                               Deleter deleter) {
  try {
    auto capsule = CountedPtr<CapsuleObject>::steal(new CapsuleObject(pointer, name));
    capsule->context_ = context;
    capsule->deleter_ = deleter;
    return capsule;
  } catch (...) {
    if (deleter != nullptr) deleter(context);
    throw;
  }
}

CapsuleObject::~CapsuleObject() {
  if (deleter_ != nullptr) deleter_(context_);
}

namespace detail {

void Dismantler::take(Value& value) noexcept {
  if (!is_container(value.kind())) return;
  try {
    pending_.push_back(std::move(value));
  } catch (const std::bad_alloc&) {
    // It was not moved, and stays.
  }
}

// Another owner would see the elements of a container vanish. Ours is the last one if the count
// is 1, since no one can make a second owner without having a first.
Dismantler::~Dismantler() {
  while (!pending_.empty()) {
    const Value value = std::move(pending_.back());
    pending_.pop_back();
    if (value.object_unchecked()->owner_count() != 1) continue;
    if (value.is_dict()) {
      static_cast<DictObject*>(value.object_unchecked())->hand_over(*this);
    } else {
      for (Value& item : static_cast<ListObject*>(value.object_unchecked())->items) take(item);
    }
  }
}

}  // namespace detail
}  // namespace opyard
