// registry/entry.h: all that is registered under one operator name.
//
// An entry outlives its registrations. It holds the kernels by key, each key's newest last;
// the definition, where there is one; and every Operator that ever had this name, since a
// definition that comes back must bring the same object back to life.
//
//   Entry ── kernels ── key ── [oldest … newest = active]
//         └─ definition, op (live)      └─ former: operators by declaration
//
// All of it is guarded by the registry's lock; only Operator's slots are read without.
//
// Depends on: registry/registry.h, registry/stubs.h.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "opyard/registry/registry.h"

namespace opyard {

struct RegisteredKernel {
  std::unique_ptr<Record> record;
  std::uint64_t id;
  Owner owner;
};

// The fallbacks of all keys, by slot; null where a key has none.
struct Fallbacks {
  struct Registered {
    std::unique_ptr<Record> record;
    std::uint64_t id;
  };
  std::map<DispatchKey, Registered> registered;

  // The registered one, else the built-in one, else null.
  const Record* find(DispatchKey key) const;
};

struct Resolved {
  const Record* record;
  const char* rule;
};

struct Entry {
  OperatorName name;
  std::map<DispatchKey, std::vector<RegisteredKernel>> kernels;
  std::optional<Definition> definition;
  std::uint64_t definition_id = 0;  // also the order of definition
  Operator* op = nullptr;
  std::vector<std::unique_ptr<Operator>> former;  // live one included
  std::set<DispatchKey> warned;                   // where an override has been warned of

  bool exists() const { return definition.has_value() || !kernels.empty(); }

  // The active kernel at exactly this key, or null.
  const Record* active(DispatchKey key) const;
  // The active kernel with a C++ signature, if any kernel has one; and its key.
  std::pair<const Record*, DispatchKey> first_signature() const;

  // What serves a runtime key; the order is described in registry/registry.h. Never a
  // fallthrough at Undefined.
  Resolved resolve(DispatchKey key, const Fallbacks& fallbacks) const;

  // Writes slots and mask of the live operator so that they equal what resolve() says.
  void publish(const Fallbacks& fallbacks) const;
  // Makes every call of an operator raise OperatorGone.
  static void bury(Operator& op);
  // Where the stored table or mask differs from the computed one, or the entry contradicts
  // itself, as text; empty where all agrees.
  std::string find_drift(const Fallbacks& fallbacks) const;

  // The operator for this declaration: one of former times, or a new one.
  Operator& operator_for(const Schema& schema);

  std::string dump() const;
  std::string dump_table(const Fallbacks& fallbacks) const;

 private:
  Resolved look_up(DispatchKey key, const Fallbacks& fallbacks) const;
};

}  // namespace opyard
