// opyard/registry/registry.h: all operators of the process, their kernels and their tables.
//
// There is one registry in a process. Whoever writes C++ operators uses Library
// (opyard/library.h), which is made of the functions here.
//
// A kernel may be registered before, after or without a definition. Registrations for one
// operator and key form a stack: the newest is active. The slot of a runtime key is resolved
// in this order:
//   1   a kernel at exactly this key
//   2   CompositeExplicitAutogradNonFunctional, where its set has the key
//   3   CompositeExplicitAutograd
//   4   CompositeImplicitAutogradNestedTensor
//   5   CompositeImplicitAutograd, unless a kernel for the backend or an explicit composite
//       stands below an autograd key; AutogradOther with both is ambiguous
//   6   Autograd
//   7   BatchedDecomposition
//   8   the fallback of the key
//   9   nothing: the call raises NoKernel
//
// [Interpreters] A kernel may serve the calls of one interpreter alone. Each interpreter then has a view
// of its own: a stack's newest kernel that serves it is active there, and where a stack has none that
// does, the order above goes on without it. A thread that is in no interpreter sees the kernels of all
// that live. What is asked here without naming an interpreter is answered as calls of the thread
// that asks would go. In the same way interpreters can define one operator together, with one schema: it
// stands until the last of them takes it back.
//
// Every function may be called on any thread; writers take one lock and hold it while no
// code of a user runs. A function that throws has changed nothing.
//
// Depends on: registry/kernel.h, registry/registration.h.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/registry/history.h"
#include "opyard/registry/kernel.h"
#include "opyard/registry/listener.h"
#include "opyard/registry/operator.h"
#include "opyard/registry/recorder.h"
#include "opyard/registry/registration.h"
#include "opyard/registry/what_if.h"

namespace opyard {

class Watcher;

// Who registers: the same owner registering twice for one operator and key replaces its own kernel,
// wherever it lies, by one on top; another owner stacks on top. Any address that is the owner's
// alone; null is nobody's.
using Owner = const void*;

// Says that an owner registers its things once more: what it registered with a number up to this one
// may be replaced, in its place, by what it registers now. 0: nothing may.
using Again = std::uint64_t;

// How the aliases of an operator are known.
enum class AliasAnalysis { FromSchema, Conservative, PureFunction };

// Asked to raise where a call finds no kernel, in place of the error that Opyard makes.
class OPYARD_API MissingKernelReporter : public Counted {
 public:
  // `key` is where the call ended. Where this returns, Opyard raises its own error.
  virtual void report(const Operator& op, DispatchKey key) const = 0;
};

struct Definition {
  Schema schema;
  AliasAnalysis alias_analysis = AliasAnalysis::FromSchema;
  bool alias_analysis_is_default = true;
  std::vector<std::string> tags;
  std::string provenance;                    // "registered at demo.cpp:12"
  const Interpreter* interpreter = nullptr;  // who defines it, where others may do so, too
  std::string doc = "";                      // for people; the first line is a summary
  // The Python module that has the operator's fake kernel, and what else to say to whoever misses
  // it; empty where none was named.
  std::string python_module = "";
  std::string python_context = "";
};

namespace detail {
// Written under the registry's lock; see Registry::generation().
extern OPYARD_API constinit std::atomic<std::uint64_t> registry_generation;
}  // namespace detail

class OPYARD_API Registry {
 public:
  static Registry& instance();

  // Makes an operator. Raises BadRegistration where one of that name and overload is defined, but
  // see [Interpreters]; or where kernels registered before contradict the schema. With `again`, one of this
  // owner makes way at once: for the same schema the operator stays, for another schema a new one takes the
  // name, the former one is gone, and listeners are told of both.
  Registration define(Definition definition, Owner owner = nullptr, Again again = 0);

  // Adds a kernel at a key; without a key at CompositeImplicitAutograd. Raises BadRegistration
  // where its C++ signature differs from the operator's kernels or schema. Warns where it
  // covers the active kernel of another owner, unless `override` says that this is meant; once
  // for each operator and key. With `again` the owner's own is replaced where it lies, also below
  // those of others.
  Registration implement(OperatorName name, std::optional<DispatchKey> key, Kernel kernel,
                         std::string provenance, Owner owner = nullptr, bool override = false,
                         Again again = 0);

  // A kernel for every operator at one runtime key. Raises BadRegistration where the key has
  // one, unless it is this owner's and `again` has it replaced, and for kernels that are not boxed
  // and not fallthrough.
  Registration implement_fallback(DispatchKey key, Kernel kernel, std::string provenance,
                                  Owner owner = nullptr, Again again = 0);

  // Gives an operator a derivative; the newest one counts, and one of the same owner is replaced. Raises
  // BadRegistration for a formula of what is no argument, if the operator is defined.
  Registration differentiate(const OperatorName& name, CountedPtr<const Derivative> derivative,
                             Owner owner = nullptr);
  // The derivative that counts, or null.
  CountedPtr<const Derivative> derivative(const OperatorName& name) const;

  // What has been registered so far may be replaced, by who says so with this.
  Again now() const;

  // Claims a namespace for one library, or for one of each interpreter. Raises BadRegistration,
  // naming the holder.
  Registration claim_namespace(std::string name_space, std::string provenance,
                               const Interpreter* interpreter = nullptr);

  // An interpreter takes part from now on, until it leaves. Before it leaves it is disarmed.
  void join(const Interpreter* interpreter);
  void leave(const Interpreter* interpreter) noexcept;

  // Tells a listener of all operators that are defined, then of each that comes and goes, until
  // the registration ends; it may still be running on another thread then. Raises what the
  // listener throws meanwhile.
  Registration listen(RegistrationListener listener);

  // Who is told where a call of this operator finds no kernel; null for nobody. Ends with the
  // definition. Raises NotFound where that was taken back.
  void set_missing_kernel_reporter(const Operator& op, CountedPtr<MissingKernelReporter> reporter);

  CountedPtr<MissingKernelReporter> missing_kernel_reporter(const Operator& op) const;

  // The operator where it is defined, else null.
  const Operator* find(const OperatorName& name) const;
  // Raises NotFound, and says so where kernels stand but no definition.
  const Operator& require(const OperatorName& name) const;
  const Operator& require(std::string_view name) const;

  // Changes whenever an operator is defined or a definition is taken back: who keeps what a
  // name led to looks again when this number is another. One load.
  static std::uint64_t generation() noexcept {
    return detail::registry_generation.load(std::memory_order_acquire);
  }

  // All defined operators, by name; and the overloads of one "ns::name" in order of definition.
  std::vector<OperatorName> names() const;
  std::vector<std::string> overloads(std::string_view name) const;
  std::vector<std::string> tags(const OperatorName& name) const;
  // What other programs need to know of an operator, as JSON: name, overload, schema, doc, tags,
  // arguments and results, each with name, type and, where it has them, default, alias and
  // keyword_only; the texts as in the schema. Raises NotFound where it is not defined.
  std::string metadata(const OperatorName& name) const;
  // The Python module of its fake kernel and what goes with it; both empty where none was named.
  std::pair<std::string, std::string> python_module(const OperatorName& name) const;

  // Whether kernels are registered for this name, defined or not.
  bool has_kernel(const OperatorName& name) const;
  // Whether one is registered at exactly this key, which may be an alias; or at any key of the set.
  bool has_kernel_at(const OperatorName& name, DispatchKey key) const;
  bool has_kernel_at_any(const OperatorName& name, DispatchKeySet keys) const;
  // Whether a call that goes to this runtime key finds a kernel, of whatever rule; fallthroughs
  // count. Raises NotFound for an operator that is not defined, BadValue for an alias.
  bool has_computed_kernel(const OperatorName& name, DispatchKey key) const;
  // Whether calls pass this runtime key by. Raises what has_computed_kernel() raises.
  bool is_fallthrough(const OperatorName& name, DispatchKey key) const;
  // Whether a fallback is registered for the key.
  bool has_fallback(DispatchKey key) const;
  // What stands in dump() for each operator that has kernels and no definition.
  std::vector<std::string> dangling() const;

  // Registered kernels, a line each, in the format of B38; empty for an unknown operator.
  std::string dump(const OperatorName& name) const;
  // The computed table, a line each slot with a kernel, in the format of B39.
  std::string dump_table(const OperatorName& name) const;
  // The same as calls of this interpreter go, or with null those of a thread that is in none.
  std::string dump_table(const OperatorName& name, const Interpreter* interpreter) const;
  // Raises Internal where a stored table differs from the computed one, or where registrations
  // contradict themselves.
  void check_invariants() const;

  // Where the record came from, as "registered at …", and by which rule it serves this key:
  // "kernel", "default backend kernel", "math kernel", "backend fallback", "missing", …
  struct Resolution {
    const Record* record;
    const char* rule;
    std::string provenance;
  };
  Resolution resolve(const Operator& op, DispatchKey key) const;
  // The record that would serve this runtime key if a kernel at `at`, and those on top of it, were
  // not registered; see registry/next.h, which keeps the answer. Inside a CallDepth.
  const Record& resolve_below(const Operator& op, DispatchKey key, DispatchKey at,
                              std::uint64_t order) const;
  // The runtime keys of the operator that have a kernel, fallbacks not among them.
  std::vector<DispatchKey> keys_with_kernel(const Operator& op) const;

  // What a registration at this key, which may be an alias, would change: the slots concerned, in
  // the order of dump_table(). Raises NotFound where neither definition nor kernel stands under the
  // name, BadRegistration for a key that can hold no kernel, and BadValue for a removal where
  // nothing stands at the key.
  std::vector<TableChange> what_if(const OperatorName& name, DispatchKey key, WhatIf change) const;

  // The last changes, oldest first.
  std::vector<RegistryEvent> history() const;

  // Frees what was taken back and can no longer be in use. Every change does this as well.
  void reclaim();
  // Records that were taken back and are not freed yet.
  std::size_t retired_count() const;

 private:
  friend class Registration;
  friend void start_watching(Watcher& watcher);  // registry/watch.h
  friend void stop_watching(Watcher& watcher) noexcept;
  friend void arm_recorder(const RecorderFunctions& functions);  // registry/recorder.h
  Registry();
  // Puts the record of the role Watch in front of all slots, or takes it away. Raises bad_alloc.
  void set_watched(bool watched);
  void arm(const RecorderFunctions& functions);
  // With the lock held.
  const Record& computed(const OperatorName& name, DispatchKey key) const;

  ~Registry() = delete;  // lives as long as the process
  void undo(std::uint64_t id) noexcept;
  bool stands(std::uint64_t id) const noexcept;

  struct State;
  State* const state_;
};

// Shorthand for Registry::instance().require(name), for the writers of calls.
inline const Operator& require_operator(std::string_view name) {
  return Registry::instance().require(name);
}

}  // namespace opyard
