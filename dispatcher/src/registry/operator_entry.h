// registry/operator_entry.h: OperatorEntry: everything registered under one operator name.
//
// An entry outlives its registrations. It holds the kernels by key, each key's newest last;
// the definition, if there is one; and every Operator that ever had this name, since a
// definition that comes back must bring the same object back to life.
//
//   OperatorEntry ── kernels ── key ── [oldest … newest = active]
//         └─ definition, op (live)      └─ former: operators by declaration
//
// All of it is guarded by the registry's lock; only Operator's slots are read without.
//
// Depends on: registry/registry.h, registry/kernel_stacks.h, registry/gradient_slot.h,
// registry/built_in_records.h.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "opyard/detail/base/rare.h"
#include "opyard/detail/base/shared_text.h"
#include "opyard/registry/registry.h"
#include "registry/gradient_slot.h"
#include "registry/kernel_stacks.h"

namespace opyard {

// What the tables of all operators share.
struct Common {
  KernelStacks fallbacks;  // one a key that serves all, or one for each interpreter
  bool watching = false;   // slots lead to watchers first; see registry/observed_call.cpp
  bool armed = false;      // the tape is armed; see registry/gradient_slot.h
  std::vector<const Interpreter*> interpreters;  // those that take part

  // Whether interpreters see different tables.
  bool several() const noexcept { return interpreters.size() > 1; }
  // Whose calls the stored tables are for, if not several.
  CallingInterpreter usual() const noexcept {
    return interpreters.empty() ? CallingInterpreter::after()
                                : CallingInterpreter::of(interpreters.front());
  }
  // Whose calls are those of this thread.
  CallingInterpreter here() const noexcept {
    if (!several()) return usual();
    const Interpreter* const interpreter = Interpreter::here();
    return interpreter == nullptr ? CallingInterpreter::outside()
                                  : CallingInterpreter::of(interpreter);
  }
};

// What is known of a definition besides the schema, which the operator has.
struct KnownDefinition {
  explicit KnownDefinition(Definition&& definition);

  AliasAnalysis alias_analysis;
  bool alias_analysis_is_default;
  std::vector<std::string> tags;
  SharedText provenance;
  const Interpreter* interpreter;
  struct Texts {
    std::string doc;
    std::string python_module;
    std::string python_context;
  };
  Rare<Texts> texts;
};

// Changes whenever a table was written, before what left it is retired: see registry/next.cpp.
extern std::atomic<std::uint64_t> table_changes;
// Whether more than one interpreter takes part. Changes before table_changes does.
extern std::atomic<bool> several_interpreters;

struct Resolved {
  const Record* record;
  const char* rule;
  const Record* kernel = nullptr;  // that the record goes on to, if it is a built-in one

  // Of what people are told.
  const SharedText& provenance() const { return (kernel == nullptr ? record : kernel)->provenance; }
};

// The key at which a kernel registered for `at` is stored. Raises BadRegistration if none can.
DispatchKey kernel_key(const OperatorName& name, std::optional<DispatchKey> at);

struct OperatorEntry {
  explicit OperatorEntry(const OperatorName& of) noexcept : name(of) {}

  const OperatorName& name;  // the registry's own, which lives as long
  KernelStacks kernels;
  std::optional<KnownDefinition> definition;
  std::uint64_t definition_id = 0;  // also the order of definition
  Owner definition_owner = nullptr;
  // Who else has made the same definition, each another interpreter; it stays until the last is
  // gone.
  struct Sharer {
    const Interpreter* interpreter;
    std::uint64_t id;
    Owner owner;
  };
  std::vector<Sharer> sharers;
  bool ending = false;  // the definition is being unregistered
  Operator* op = nullptr;
  std::vector<std::unique_ptr<Operator>> former;  // live one included
  std::vector<DispatchKey> warned;  // each once for each depth of its stack that was warned of
  CountedPtr<MissingKernelReporter> reporter;   // who is told if a call finds no kernel
  std::unique_ptr<GradientSlot> gradient_slot;  // derivatives; of each operator once armed

  bool has_kernel(CallingInterpreter caller) const;
  bool exists() const { return definition.has_value() || !kernels.empty(); }

  // The active kernel at exactly this key, or null.
  const Record* active(DispatchKey key, CallingInterpreter caller) const;
  // The active kernel with a C++ signature, if any kernel has one; and its key.
  std::pair<const Record*, DispatchKey> first_signature() const;

  // What serves a runtime key; the order is described in registry/registry.h. Never a
  // fallthrough at Undefined.
  Resolved resolve(DispatchKey key, const Common& common, CallingInterpreter caller) const;
  // The same without the kernels at `at` from this order on, for the calls of this thread.
  Resolved resolve_below(DispatchKey key, DispatchKey at, std::uint64_t order,
                         const Common& common) const;

  // Makes the tables that publish() will write. Raises bad_alloc.
  void prepare_tables(Operator& op, const Common& common) const;

  // Writes slots and mask of the live operator so that they equal what resolve() says.
  void publish(const Common& common) const;
  // Puts the record that watches in front of the slots, or takes it away, without resolving them
  // anew. The operator has its WatchTable.
  void set_watch(bool on) const noexcept;
  // Makes every call of an operator raise OperatorGone.
  static void mark_removed(Operator& op);
  // Whether a typed handle was ever made of it.
  static bool has_handle(const Operator& op) noexcept;
  // Its C++ signature; if a typed handle has fixed it, with the file whose types those are.
  static std::string describe_signature(const Operator& op);
  // Where the stored table or mask differs from the computed one, or the entry contradicts
  // itself, as text; empty if all agrees.
  std::string find_drift(const Common& common) const;

  // The operator for this declaration: one of former times, or a new one.
  Operator& operator_for(const Schema& schema);
};

}  // namespace opyard
