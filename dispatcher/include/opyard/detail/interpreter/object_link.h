// opyard/detail/interpreter/object_link.h: the link from an object to its face.
//
// An object belongs to at most one interpreter. Its tag goes from null to that interpreter
// once and stays while that interpreter lives; one that has ended counts as none. The object
// pointer may be written only by the thread that holds the lock of the tagged interpreter.
//
//   DefinitelyUntagged ─┐
//   MaybeUntagged ──────┴─init──> TaggedByUs (seen from the winner), TaggedByOther (from others)
//
// [Ownership] As a rule the linked object owns the C++ object, and the link leads back to it
// without owning. Where the interpreter lets go of an object that must not be lost while C++ owners
// are left, this turns round: the link owns the object, which keeps no owner of the C++ one.
//
// Depends on: interpreter/interpreter.h.
#pragma once

#include <atomic>
#include <optional>

#include "opyard/interpreter/interpreter.h"

namespace opyard {

enum class LinkStatus {
  DefinitelyUntagged,  // just made, and seen by no other thread: its maker alone can say so
  MaybeUntagged,       // it looked untagged; another thread may tag it at any moment
  TaggedByUs,          // ours: with our lock held, we alone may write the object pointer
  TaggedByOther,       // another interpreter's; its object must not be touched
};

class OPYARD_API ObjectLink {
 public:
  LinkStatus status(const Interpreter* us) const noexcept {
    const Interpreter* tag = tag_.load(std::memory_order_acquire);
    if (tag == us) return LinkStatus::TaggedByUs;
    return is_none(tag) ? LinkStatus::MaybeUntagged : LinkStatus::TaggedByOther;
  }

  // Tags a C++ object for `us`, as far as its status asks for that, and writes the object pointer.
  // Nothing is written if another interpreter was first: then it raises InterpreterGone, naming
  // both. The caller holds the lock of `us`.
  void init(Interpreter* us, void* object, LinkStatus status) {
    if (status == LinkStatus::DefinitelyUntagged) {
      tag_.store(us, std::memory_order_relaxed);  // whichever thread sees the object sees this too
    } else if (status != LinkStatus::TaggedByUs) {
      claim(us);
    }
    object_ = object;
  }

  // Tags the object for `us`, or finds it tagged for `us` already. Raises InterpreterGone,
  // naming both, if another interpreter was first.
  void claim(Interpreter* us);

  // Nothing for an untagged object, which is then MaybeUntagged; else as object().
  std::optional<void*> find_object(Interpreter* us) const {
    const Interpreter* const tag = this->tag();
    if (tag != us && is_none(tag)) return std::nullopt;
    return object(us);
  }
  // The object, or null: untagged, or tagged by us without an object at present. Raises
  // InterpreterGone, naming both, for an object of another interpreter that lives.
  void* object(Interpreter* us) const {
    Interpreter* const tag = tag_.load(std::memory_order_acquire);
    if (tag == nullptr) return nullptr;
    if (tag != us) return refuse_unless_ended(us, tag);
    return object_;
  }
  // Whether it is this object of ours.
  bool holds(const Interpreter* us, const void* object) const noexcept {
    return tag_.load(std::memory_order_acquire) == us && object_ == object;
  }

  // Writes the object pointer. The caller holds the lock of the tagged interpreter.
  void set_object_with_lock_held(void* object) noexcept { object_ = object; }

  // See [Ownership]. Written with that lock held, by an owner of the C++ object.
  bool owns_object() const noexcept { return owns_object_; }
  void set_owns_object_with_lock_held(bool owns) noexcept { owns_object_ = owns; }

  Interpreter* tag() const noexcept { return tag_.load(std::memory_order_acquire); }

 private:
  static bool is_none(const Interpreter* tag) noexcept { return tag == nullptr || !tag->armed(); }
  // Null if the other one has ended.
  OPYARD_COLD static void* refuse_unless_ended(Interpreter* us, Interpreter* other);

  std::atomic<Interpreter*> tag_{nullptr};  // written once an interpreter's life
  void* object_ = nullptr;                  // guarded by the lock of the tagged interpreter
  bool owns_object_ = false;                // the same; read without it once no owner is left
};

}  // namespace opyard
