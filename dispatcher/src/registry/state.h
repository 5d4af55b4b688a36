// registry/state.h: what the registry holds.
//
// Depends on: registry/entry.h, registry/history.h, registry/listeners.h.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "opyard/base/mutex.h"
#include "opyard/registry/registry.h"
#include "registry/entry.h"
#include "registry/history.h"
#include "registry/listeners.h"

namespace opyard {

struct Registry::State {
  enum class What { Definition, Kernel, Fallback, Namespace, Listener };
  struct Target {
    What what;
    Entry* entry = nullptr;
    DispatchKey key = DispatchKey::Undefined;
    const std::string* name_space = nullptr;  // the key in `claims`
  };
  struct Claim {
    std::string provenance;
    const Interpreter* interpreter;
    std::uint64_t id;
  };

  mutable Mutex mutex{LockRank::Registry};  // guards everything below
  std::map<OperatorName, std::unique_ptr<Entry>> entries;
  Common common;
  std::map<std::string, std::vector<Claim>> claims;
  Listeners listeners{mutex};
  History history;
  std::unordered_map<std::uint64_t, Target> targets;  // by registration
  std::uint64_t last_id = 0;

  const Entry* find(const OperatorName& name) const {
    const auto found = entries.find(name);
    return found == entries.end() ? nullptr : found->second.get();
  }
  // The entry of an operator that is defined; null for one of former times.
  const Entry* find(const Operator& op) const {
    const Entry* const entry = find(op.name());
    return entry != nullptr && entry->op == &op ? entry : nullptr;
  }
  Entry& entry(const OperatorName& name) {
    const auto found = entries.find(name);
    if (found != entries.end()) return *found->second;
    auto fresh = std::make_unique<Entry>();  // whole before anyone can find it
    fresh->name = name;
    return *entries.emplace(name, std::move(fresh)).first->second;
  }
  std::uint64_t add_target(Target target) {
    const std::uint64_t id = last_id + 1;
    targets.emplace(id, std::move(target));
    last_id = id;
    return id;
  }
  // Writes down what came or went, after history.prepare().
  void log(bool added, const Entry& entry, std::uint64_t id,
           const std::string& provenance) noexcept {
    log(RegistryThing::Definition, added, entry.name, {}, id, provenance);
  }
  void log(bool added, const Entry& entry, DispatchKey key,
           const RegisteredKernel& kernel) noexcept {
    log(RegistryThing::Kernel, added, entry.name, key, kernel.id, kernel.record->provenance);
  }
  void log(bool added, DispatchKey key, const Common::Fallback& fallback) noexcept {
    history.add(RegistryThing::Fallback, added, key, fallback.id, fallback.record->provenance);
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

}  // namespace opyard
