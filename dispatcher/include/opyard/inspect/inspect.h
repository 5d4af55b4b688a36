// opyard/inspect/inspect.h: read-only queries of the registry.
//
//   inspect::dump(parse_operator_name("demo::f"))     its kernels, a line each
//   inspect::has_kernel_at({"demo::f", ""}, DispatchKey::CPU)
//
// What is asked without naming an interpreter is answered as calls of the thread that asks would
// go; see
// [Interpreters] in registry/registry.h. Every function takes the registry's lock, so no call path
// asks.
//
// Depends on: registry/registry.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opyard/inspect/what_if.h"
#include "opyard/registry/history.h"
#include "opyard/registry/registry.h"

namespace opyard::inspect {

// All defined operators, by name; and the overloads of one "ns::name" in order of definition.
OPYARD_API std::vector<OperatorName> names();
OPYARD_API std::vector<std::string> overloads(std::string_view name);
OPYARD_API std::vector<std::string> tags(const OperatorName& name);
// What other programs need to know of an operator, as JSON: name, overload, schema, doc, tags,
// arguments and results, each with name, type and, if it has them, default, alias and
// keyword_only; the texts as in the schema. Raises NotFound if it is not defined.
OPYARD_API std::string metadata(const OperatorName& name);
// What is written of it for people; empty if nothing is. Raises NotFound if it is not defined.
OPYARD_API std::string doc(const OperatorName& name);
// The Python module of its fake kernel and what goes with it; both empty if none was named.
OPYARD_API std::pair<std::string, std::string> python_module(const OperatorName& name);
// The derivative that counts, or null.
OPYARD_API CountedPtr<const Derivative> derivative(const OperatorName& name);
// Another number after a derivative of any operator was given or taken away. Takes no lock.
OPYARD_API std::uint64_t derivatives_changed() noexcept;
OPYARD_API CountedPtr<MissingKernelReporter> missing_kernel_reporter(const Operator& op);

// Whether kernels are registered for this name, defined or not.
OPYARD_API bool has_kernel(const OperatorName& name);
// Whether one is registered at exactly this key, which may be an alias; or at any key of the set.
OPYARD_API bool has_kernel_at(const OperatorName& name, DispatchKey key);
OPYARD_API bool has_kernel_at_any(const OperatorName& name, DispatchKeySet keys);
// Whether a call that goes to this runtime key finds a kernel, of whatever rule; fallthroughs
// count. Raises NotFound for an operator that is not defined, BadValue for an alias.
OPYARD_API bool has_computed_kernel(const OperatorName& name, DispatchKey key);
// Whether calls pass this runtime key by. Raises what has_computed_kernel() raises.
OPYARD_API bool is_fallthrough(const OperatorName& name, DispatchKey key);
// Whether a fallback is registered for the key.
OPYARD_API bool has_fallback(DispatchKey key);
// The names, in order, of operators that have a kernel at exactly this key, which may be an alias,
// or at any key; defined or not.
OPYARD_API std::vector<OperatorName> names_at(std::optional<DispatchKey> key);
// Of the overloads of one name those that have kernels and no definition.
OPYARD_API std::vector<OperatorName> dangling_overloads(std::string_view name);
// What dump() says of each operator that has kernels and no definition.
OPYARD_API std::vector<std::string> dangling();

// What is registered for a name; dump() prints more. `definition` says where it is defined, ""
// if it is not; the kernels come by key, aliases last, and of one key the newest first.
struct RegisteredKernel {
  DispatchKey key;
  std::string provenance;
  bool active;  // what calls of this interpreter find at the key
};
// What is registered for an operator now.
struct Registered {
  std::string definition;
  AliasAnalysis alias_analysis = AliasAnalysis::FromSchema;
  std::vector<RegisteredKernel> kernels;
};
// Nothing but empty fields for a name that no one has registered.
OPYARD_API Registered registered(const OperatorName& name);
// "FROM_SCHEMA", "CONSERVATIVE", "PURE_FUNCTION".
OPYARD_API const char* name_of(AliasAnalysis kind) noexcept;
// Registered kernels, a line each, in the format of B38; empty for an unknown operator.
OPYARD_API std::string dump(const OperatorName& name);
// The computed table, a line for each slot with a kernel, in the format of B39.
OPYARD_API std::string dump_table(const OperatorName& name);
// The same as calls of this interpreter go, or with null those of a thread that is in none.
OPYARD_API std::string dump_table(const OperatorName& name, const Interpreter* interpreter);
// Raises Internal if a stored table differs from the computed one, or if registrations
// contradict themselves.
OPYARD_API void check_invariants();
// The same of one operator. Raises NotFound if it has neither definition nor kernel.
OPYARD_API void check_invariants(const OperatorName& name);

// Where the record came from, as "registered at …", and by which rule it serves this key:
// "kernel", "default backend kernel", "math kernel", "backend fallback", "missing", …
struct Resolution {
  const Record* record;
  const char* rule;
  std::string provenance;
};
// Which kernel serves calls at a key, and how that was found.
OPYARD_API Resolution resolve(const Operator& op, DispatchKey key);
// The runtime keys of the operator that have a kernel, fallbacks not among them.
OPYARD_API std::vector<DispatchKey> keys_with_kernel(const Operator& op);

// What a registration at this key, which may be an alias, would change: the slots concerned, in
// the order of dump_table(). Raises NotFound if the name has neither definition nor kernel,
// BadRegistration for a key that can hold no kernel, and BadValue for a removal if the key has
// no kernel.
OPYARD_API std::vector<TableChange> what_if(const OperatorName& name, DispatchKey key,
                                            WhatIf change);

// The last changes, oldest first.
OPYARD_API std::vector<RegistryEvent> history();
// Records that were unregistered and are not freed yet.
OPYARD_API std::size_t retired_count();

}  // namespace opyard::inspect
