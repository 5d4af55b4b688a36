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
// Every function may be called on any thread; writers take one lock and hold it while no
// code of a user runs. A function that throws has changed nothing.
//
// Depends on: registry/kernel.h, registry/registration.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/registry/kernel.h"
#include "opyard/registry/operator.h"
#include "opyard/registry/registration.h"

namespace opyard {

// Who registers: the same owner registering twice for one operator and key replaces, another
// owner stacks on top. Any address that is the owner's alone; null is nobody's.
using Owner = const void*;

// How the aliases of an operator are known.
enum class AliasAnalysis { FromSchema, Conservative, PureFunction };

struct Definition {
  Schema schema;
  AliasAnalysis alias_analysis = AliasAnalysis::FromSchema;
  bool alias_analysis_is_default = true;
  std::vector<std::string> tags;
  std::string provenance;  // "registered at demo.cpp:12"
};

class OPYARD_API Registry {
 public:
  static Registry& instance();

  // Makes an operator. Raises BadRegistration where one of that name and overload is defined,
  // or where kernels registered before contradict the schema.
  Registration define(Definition definition);

  // Adds a kernel at a key; without a key at CompositeImplicitAutograd. Raises BadRegistration
  // where its C++ signature differs from the operator's kernels or schema. Warns where it
  // covers the active kernel of another owner, unless `override` says that this is meant; once
  // for each operator and key.
  Registration implement(OperatorName name, std::optional<DispatchKey> key, Kernel kernel,
                         std::string provenance, Owner owner = nullptr, bool override = false);

  // A kernel for every operator at one runtime key. Raises BadRegistration where the key has
  // one, and for kernels that are not boxed and not fallthrough.
  Registration implement_fallback(DispatchKey key, Kernel kernel, std::string provenance);

  // Claims a namespace for one library. Raises BadRegistration, naming the holder.
  Registration claim_namespace(std::string name_space, std::string provenance);

  // The operator where it is defined, else null.
  const Operator* find(const OperatorName& name) const;
  // Raises NotFound, and says so where kernels stand but no definition.
  const Operator& require(const OperatorName& name) const;
  const Operator& require(std::string_view name) const;

  // Changes whenever an operator is defined or a definition is taken back: who keeps what a
  // name led to looks again when this number is another. One load.
  std::uint64_t generation() const noexcept;

  // All defined operators, by name; and the overloads of one "ns::name" in order of definition.
  std::vector<OperatorName> names() const;
  std::vector<std::string> overloads(std::string_view name) const;
  std::vector<std::string> tags(const OperatorName& name) const;

  // Registered kernels, a line each, in the format of B38; empty for an unknown operator.
  std::string dump(const OperatorName& name) const;
  // The computed table, a line each slot with a kernel, in the format of B39.
  std::string dump_table(const OperatorName& name) const;
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
  // The runtime keys of the operator that have a kernel, fallbacks not among them.
  std::vector<DispatchKey> keys_with_kernel(const Operator& op) const;

  // Frees what was taken back and can no longer be in use. Every change does this as well.
  void reclaim();
  // Records that were taken back and are not freed yet.
  std::size_t retired_count() const;

 private:
  friend class Registration;
  Registry();
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
