// registry/state.h: the registry's state.
//
// Depends on: registry/operator_entry.h, registry/history_ring.h, registry/listener_list.h.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "opyard/detail/base/mutex.h"
#include "opyard/registry/registry.h"
#include "registry/history_ring.h"
#include "registry/listener_list.h"
#include "registry/operator_entry.h"

namespace opyard {

struct Registry::State {
  enum class What : std::uint8_t { Definition, Kernel, Fallback, Namespace, Listener, Derivative };
  struct Target {
    What what;
    DispatchKey key = DispatchKey::Undefined;
    union {
      OperatorEntry* entry;
      const std::string* name_space;  // of a Namespace: the key in `claims`
    };

    Target(What of, OperatorEntry* in, DispatchKey at = DispatchKey::Undefined) noexcept
        : what(of), key(at), entry(in) {}
    explicit Target(const std::string* claimed) noexcept
        : what(What::Namespace), name_space(claimed) {}
  };
  static_assert(sizeof(Target) == 16, "there is one for each registration");
  struct Claim {
    std::string provenance;
    const Interpreter* interpreter;
    std::uint64_t id;
  };

  mutable Mutex mutex{LockRank::Registry};  // guards everything below
  std::map<OperatorName, std::unique_ptr<OperatorEntry>> entries;
  Common common;
  std::map<std::string, std::vector<Claim>> claims;
  Listeners listeners{mutex};
  HistoryRing history;
  std::unordered_map<std::uint64_t, Target> targets;  // by registration
  std::uint64_t last_id = 0;
  SharedText last_text;

  // Of the operators of a name, those that are defined, in the order of their definitions.
  std::vector<std::string> overloads(std::string_view name) const;
  const OperatorEntry* find(const OperatorName& name) const {
    const auto found = entries.find(name);
    return found == entries.end() ? nullptr : found->second.get();
  }
  // The entry of an operator that is defined; null for one of former times.
  const OperatorEntry* find(const Operator& op) const {
    const OperatorEntry* const entry = find(op.name());
    return entry != nullptr && entry->op == &op ? entry : nullptr;
  }
  OperatorEntry& entry(const OperatorName& name) {
    const auto found = entries.find(name);
    if (found != entries.end()) return *found->second;
    const auto place = entries.emplace(name, nullptr).first;
    try {
      place->second = std::make_unique<OperatorEntry>(place->first);
    } catch (...) {
      entries.erase(place);
      throw;
    }
    return *place->second;
  }
  // A text that says the same as the one before shares its memory: those of a library mostly do.
  void share(SharedText& text) noexcept {
    if (text.str() == last_text.str()) {
      text = last_text;
    } else {
      last_text = text;
    }
  }
  std::uint64_t add_target(Target target) {
    const std::uint64_t id = last_id + 1;
    targets.emplace(id, std::move(target));
    last_id = id;
    return id;
  }
  // Writes down what came or went, after history.prepare().
  void log(bool added, const OperatorEntry& entry, std::uint64_t id,
           const std::string& provenance) noexcept {
    log(RegistryThing::Definition, added, entry.name, {}, id, provenance);
  }
  void log(bool added, const OperatorEntry& entry, const RegisteredKernel& kernel) noexcept {
    log(RegistryThing::Kernel, added, entry.name, kernel.key(), kernel.id,
        kernel.record->provenance.str());
  }
  void log(bool added, const RegisteredKernel& fallback) noexcept {
    history.add(RegistryThing::Fallback, added, fallback.key(), fallback.id,
                fallback.record->provenance.str());
  }
  void log(bool added, const std::string& name_space, const Claim& claim) noexcept {
    history.add(RegistryThing::Namespace, added, {}, claim.id, claim.provenance, name_space);
  }
  void log(RegistryThing thing, bool added, const OperatorName& name, DispatchKey key,
           std::uint64_t id, const std::string& provenance) noexcept {
    history.add(thing, added, key, id, provenance, name.name, name.overload.empty() ? "" : ".",
                name.overload);
  }
  void publish_all() const {
    for (const auto& [name, entry] : entries) entry->publish(common);
  }
};

// What the questions read: inspect/inspect.h.
struct RegistryAccess {
  using State = Registry::State;
  static State& state() noexcept { return *Registry::instance().state_; }
};

}  // namespace opyard
