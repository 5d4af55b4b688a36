// registry/listener_list.h: registration listeners, and each one's position in the history.
//
// [Once, in order] A listener hears of each life of an operator's definition once, and of its end
// after its beginning, whichever threads define, unregister and add listeners at the same time.
// No lock is held while a listener runs, so this takes some care:
// - A listener that is added gets a list of the operators that are defined then, and works through
//   it. A thread that unregisters an operator removes it from the list if it is still there.
// - If the listener is just being told of that operator, what happens to it meanwhile is counted,
//   and told by the thread that tells of its definition.
// - Registrations are numbered. A definition is told to listeners with lower numbers only; those
//   with higher ones had it on their list. Its end is told to those that were there when it began.
//
// All functions that take the registry's lock say so.
//
// Depends on: registry/listener.h, base/mutex.h.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "opyard/detail/base/mutex.h"
#include "opyard/registry/listener.h"

namespace opyard {

class Listeners {
 public:
  explicit Listeners(Mutex& mutex) noexcept : mutex_(mutex) {}

  // Whether there is none. With the lock held.
  bool none() const noexcept { return first_ == nullptr; }
  // Adds one that will have to be told of these operators; with the lock held. Raises bad_alloc.
  void add(std::uint64_t id, RegistrationListener listener, std::vector<const Operator*> defined);
  // Tells it of them. Takes the lock in between. Raises what the listener throws.
  void replay(std::uint64_t id);
  // With the lock held. Gives what is to be destroyed once it is released: callbacks may own
  // things of a user. One that is being told on another thread may still be running.
  [[nodiscard]] std::shared_ptr<void> remove(std::uint64_t id) noexcept;

  // Tell all, without the lock held. `id` is that of the definition, or the last that was given
  // when it began to end.
  void tell_defined(const Operator& op, std::uint64_t id);
  void tell_undefined(const Operator& op, std::uint64_t id) noexcept;

 private:
  struct Node;
  // The first one for which `wants` is true, from `node` on.
  template <typename Wants>
  std::shared_ptr<Node> next(const std::shared_ptr<Node>* after, const Wants& wants);
  std::shared_ptr<Node> find(std::uint64_t id) const noexcept;

  Mutex& mutex_;                 // the registry's
  std::shared_ptr<Node> first_;  // guarded by mutex_, as are the nodes but for their callbacks
};

}  // namespace opyard
