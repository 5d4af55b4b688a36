// opyard/registry/registry.h: the registry: defining, registering, finding operators.
//
// There is one registry in a process. Authors of C++ operators use Library
// (opyard/library.h), which is made of the functions here. What can be asked is in
// inspect/inspect.h.
//
// A kernel may be registered before, after or without a definition. Registrations for one
// operator and key form a stack: the newest is active. The slot of a runtime key is resolved
// in this order:
//   1   a kernel at exactly this key
//   2   CompositeExplicitAutogradNonFunctional, if its set has the key
//   3   CompositeExplicitAutograd
//   4   CompositeImplicitAutogradNestedTensor
//   5   CompositeImplicitAutograd, unless a kernel for the backend or an explicit composite
//       is below an autograd key; AutogradOther with both is ambiguous
//   6   Autograd
//   7   BatchedDecomposition
//   8   the fallback of the key
//   9   at Meta, a C++ kernel at CPU that serves it; see registry/kernel.h [Meta]
//  10   nothing: the call raises NoKernel
//
// [Interpreters] A kernel may serve the calls of one interpreter alone. Each interpreter then has a
// table of its own: a stack's newest kernel that serves it is active there, and if a stack has
// none that does, the order above goes on without it. A thread that is in no interpreter sees the
// kernels of all that live. What is asked here without naming an interpreter is answered as calls
// of the thread that asks would go. In the same way interpreters can define one operator together,
// with one schema: it stays until the last of them unregisters it.
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

#include "opyard/detail/registry/gradient_slot.h"
#include "opyard/registry/kernel.h"
#include "opyard/registry/operator.h"
#include "opyard/registry/registration.h"

namespace opyard {

class Watcher;
struct RegistrationListener;  // registry/listener.h

// Who registers: the same owner registering twice for one operator and key replaces its own kernel,
// wherever it is, by one on top; another owner stacks on top. Any address that is the owner's
// alone; null is no one's.
using Owner = const void*;

// A reload of an owner's registrations: those that it made with a number up to this one may be
// replaced, in their places, by what it registers now. 0: none may.
using ReloadMark = std::uint64_t;

// How the aliases of an operator are known.
enum class AliasAnalysis { FromSchema, Conservative, PureFunction };

// Asked to raise if a call finds no kernel, in place of the error that Opyard makes.
class OPYARD_API MissingKernelReporter : public Counted {
 public:
  // `key` is where the call ended. If this returns, Opyard raises its own error.
  virtual void report(const Operator& op, DispatchKey key) const = 0;
};

struct Definition {
  Schema schema;
  AliasAnalysis alias_analysis = AliasAnalysis::FromSchema;
  bool alias_analysis_is_default = true;
  std::vector<std::string> tags;
  std::string provenance;                    // "registered at demo.cpp:12"
  const Interpreter* interpreter = nullptr;  // who defines it, if others may do so, too
  std::string doc = "";                      // for people; the first line is a summary
  // The Python module that has the operator's fake kernel, and what else to say to those who miss
  // it; empty if none was named.
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

  // Makes an operator. Raises BadRegistration if one of that name and overload is defined, but
  // see [Interpreters]; or if kernels registered before contradict the schema. With `reload`,
  // one of this owner makes way at once: for the same schema the operator stays, for another schema
  // a new one takes the name, the former one is gone, and listeners are told of both.
  Registration define(Definition definition, Owner owner = nullptr, ReloadMark reload = 0);

  // Adds a kernel at a key; without a key at CompositeImplicitAutograd. Raises BadRegistration
  // if its C++ signature differs from the operator's kernels or schema. Warns if it
  // covers the active kernel of another owner, unless `override` says that this is meant; once
  // for each operator and key. With `reload` the owner's own is replaced where it is, also below
  // those of others.
  Registration implement(OperatorName name, std::optional<DispatchKey> key, Kernel kernel,
                         std::string provenance, Owner owner = nullptr, bool override = false,
                         ReloadMark reload = 0);

  // A kernel for every operator at one runtime key. Raises BadRegistration if the key has
  // one, unless it is this owner's and `reload` has it replaced, and for kernels that are not boxed
  // and not fallthrough.
  Registration implement_fallback(DispatchKey key, Kernel kernel, std::string provenance,
                                  Owner owner = nullptr, ReloadMark reload = 0);

  // Gives an operator a derivative; the newest one counts, and one of the same owner is replaced.
  // Raises BadRegistration for a formula of what is no argument, if the operator is defined.
  Registration differentiate(const OperatorName& name, CountedPtr<const Derivative> derivative,
                             Owner owner = nullptr);

  // A number that lets its holder replace, later, what it has registered so far.
  ReloadMark reload_mark() const;

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

  // The function that is told if a call of this operator finds no kernel, or null. Ends with the
  // definition. Raises NotFound if that was unregistered.
  void set_missing_kernel_reporter(const Operator& op, CountedPtr<MissingKernelReporter> reporter);

  // The operator if it is defined, else null.
  const Operator* find(const OperatorName& name) const;
  // Raises NotFound, and says so if there are kernels but no definition.
  const Operator& require(const OperatorName& name) const;
  const Operator& require(std::string_view name) const;

  // Changes whenever an operator is defined or a definition is unregistered: who keeps what a
  // name led to looks again when this number is another. One load.
  static std::uint64_t generation() noexcept {
    return detail::registry_generation.load(std::memory_order_acquire);
  }

  // Frees what was unregistered and can no longer be in use. Every change does this as well.
  void reclaim();

 private:
  friend class Registration;
  friend void start_watching(Watcher& watcher);  // registry/watch.h
  friend void stop_watching(Watcher& watcher) noexcept;
  friend void arm_tape(const TapeFunctions& functions);  // registry/gradient_slot.h
  friend struct RegistryAccess;                          // of the questions
  Registry();
  // Puts the record of the role Watch in front of all slots, or takes it away. Raises bad_alloc.
  void set_watch(bool on);
  void arm(const TapeFunctions& functions);
  ~Registry() = delete;  // lives as long as the process
  void undo(std::uint64_t id) noexcept;
  bool in_force(std::uint64_t id) const noexcept;

  struct State;
  State* const state_;
};

// Shorthand for Registry::instance().require(name), for the writers of calls.
inline const Operator& require_operator(std::string_view name) {
  return Registry::instance().require(name);
}

}  // namespace opyard
