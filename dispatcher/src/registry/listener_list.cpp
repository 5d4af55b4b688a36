// registry/listener_list.cpp: notification of listeners. See [Once, in order] in the header.
#include "registry/listener_list.h"

#include <algorithm>
#include <utility>

#include "opyard/base/error.h"

namespace opyard {
namespace {

constinit thread_local bool is_putting_back = false;

}  // namespace

bool put_definitions_back(bool on) noexcept { return std::exchange(is_putting_back, on); }
bool is_putting_definitions_back() noexcept { return is_putting_back; }

// A node that was removed keeps its `next`, so that a thread that is at it finds the next one.
struct Listeners::Node {
  const std::uint64_t id;
  const RegistrationListener callbacks;
  std::vector<const Operator*> to_replay;  // taken from the back
  const Operator* replaying = nullptr;     // what it is being told of
  int changes = 0;                         // how often that ended or began anew meanwhile
  bool removed = false;
  std::shared_ptr<Node> next{};

  void defined(const Operator& op) const {
    if (!callbacks.on_defined) return;
    if (!is_putting_back) return callbacks.on_defined(op);
    static_cast<void>(guarded([&] { callbacks.on_defined(op); }));
  }
  void undefined(const Operator& op) const noexcept {
    // No one can be told of a failure here: a registration is ending.
    static_cast<void>(guarded([&] {
      if (callbacks.on_undefined) callbacks.on_undefined(op);
    }));
  }
};

void Listeners::add(std::uint64_t id, RegistrationListener listener,
                    std::vector<const Operator*> defined) {
  std::reverse(defined.begin(), defined.end());
  auto node = std::make_shared<Node>(Node{id, std::move(listener), std::move(defined)});
  std::shared_ptr<Node>* last = &first_;
  while (*last != nullptr) last = &(*last)->next;
  *last = std::move(node);
}

std::shared_ptr<Listeners::Node> Listeners::find(std::uint64_t id) const noexcept {
  std::shared_ptr<Node> node = first_;
  while (node != nullptr && node->id != id) node = node->next;
  return node;
}

void Listeners::replay(std::uint64_t id) {
  std::unique_lock lock(mutex_);
  const std::shared_ptr<Node> node = find(id);
  while (!node->removed && !node->to_replay.empty()) {
    const Operator& op = *node->to_replay.back();
    node->to_replay.pop_back();
    node->replaying = &op;
    lock.unlock();
    node->defined(op);  // if it throws, the listener is removed
    lock.lock();
    for (bool defined = true; node->changes > 0; defined = !defined) {
      --node->changes;
      lock.unlock();
      defined ? node->undefined(op) : node->defined(op);
      lock.lock();
    }
    node->replaying = nullptr;
  }
}

std::shared_ptr<void> Listeners::remove(std::uint64_t id) noexcept {
  std::shared_ptr<Node>* link = &first_;
  while ((*link)->id != id) link = &(*link)->next;
  std::shared_ptr<Node> node = *link;
  node->removed = true;
  *link = node->next;
  return node;
}

template <typename Wants>
std::shared_ptr<Listeners::Node> Listeners::next(const std::shared_ptr<Node>* after,
                                                 const Wants& wants) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Node> node = after == nullptr ? first_ : (*after)->next;
  while (node != nullptr && (node->removed || !wants(*node))) node = node->next;
  return node;
}

void Listeners::tell_defined(const Operator& op, std::uint64_t id) {
  const auto wants = [&](Node& node) {
    if (node.id > id) return false;
    if (node.replaying != &op) return true;
    ++node.changes;  // told by the thread that is telling it of this operator
    return false;
  };
  for (auto node = next(nullptr, wants); node != nullptr; node = next(&node, wants)) {
    node->defined(op);
  }
}

void Listeners::tell_undefined(const Operator& op, std::uint64_t id) noexcept {
  const auto wants = [&](Node& node) {
    if (node.id > id) return false;
    if (std::erase(node.to_replay, &op) != 0) return false;
    if (node.replaying != &op) return true;
    ++node.changes;
    return false;
  };
  for (auto node = next(nullptr, wants); node != nullptr; node = next(&node, wants)) {
    node->undefined(op);
  }
}

}  // namespace opyard
