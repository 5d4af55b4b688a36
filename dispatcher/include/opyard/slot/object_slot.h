// opyard/slot/object_slot.h: the place in a C++ object for its face in an interpreter.
//
// An object belongs to at most one interpreter. Its tag goes from null to that interpreter
// once and never changes. The object pointer may be written only by the thread that holds
// the lock of the tagged interpreter.
//
//   Untagged ──claim──> TaggedByUs (seen from the claimer), TaggedByOther (seen from others)
//
// Depends on: slot/interpreter.h.
#pragma once

#include <atomic>

#include "opyard/slot/interpreter.h"

namespace opyard {

enum class SlotStatus {
  Untagged,       // nobody has claimed the object; another thread may do so at any moment
  TaggedByUs,     // ours: with our lock held, we alone may write the object pointer
  TaggedByOther,  // another interpreter's; its object must not be touched
};

class OPYARD_API ObjectSlot {
 public:
  SlotStatus status(const Interpreter* us) const noexcept {
    const Interpreter* tag = tag_.load(std::memory_order_acquire);
    if (tag == nullptr) return SlotStatus::Untagged;
    return tag == us ? SlotStatus::TaggedByUs : SlotStatus::TaggedByOther;
  }

  // Tags the object for `us`, or finds it tagged for `us` already. Raises InterpreterGone,
  // naming both, where another interpreter was first.
  void claim(Interpreter* us);

  // The object, or null: untagged, or tagged by us without an object at present. Raises
  // InterpreterGone, naming both, for an object of another interpreter.
  void* object(const Interpreter* us) const {
    const Interpreter* tag = tag_.load(std::memory_order_acquire);
    if (tag == nullptr) return nullptr;
    if (tag != us) refuse(us, tag);
    return object_;
  }

  // Writes the object pointer. The caller holds the lock of the tagged interpreter.
  void set_object_with_lock_held(void* object) noexcept { object_ = object; }

  Interpreter* tag() const noexcept { return tag_.load(std::memory_order_acquire); }

 private:
  [[noreturn]] static void refuse(const Interpreter* us, const Interpreter* other);

  std::atomic<Interpreter*> tag_{nullptr};  // written once
  void* object_ = nullptr;                  // guarded by the lock of the tagged interpreter
};

}  // namespace opyard
