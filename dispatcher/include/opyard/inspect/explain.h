// opyard/inspect/explain.h: explains the route of a call, key by key.
//
// explain() computes a call's route with the code that the call itself uses, without making
// it: the keys of each argument, the thread's sets, the mask, every key that was considered
// and why it was passed over, the kernel that would run, and those that it can redispatch to. The
// error of a call that finds no kernel ends with the same lines.
//
// Depends on: registry/operator.h, registry/registry.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "opyard/registry/operator.h"

namespace opyard {

// The keys of one argument that can carry some.
struct ArgumentKeys {
  std::size_t position;
  std::string name;
  DispatchKeySet keys;
};

struct ConsideredKey {
  DispatchKey key;
  bool taken;              // the route stops here
  std::string reason;      // "falls through", "kernel", "backend fallback", "no kernel", …
  std::string provenance;  // where that was registered; empty if nothing was
};

struct Explanation {
  std::string op;                       // "demo::scaled_add"
  std::string declaration;              // its schema
  std::vector<ArgumentKeys> arguments;  // those that can carry keys
  DispatchKeySet include;
  DispatchKeySet exclude;
  DispatchKeySet mask;                    // the layers that do not fall through for this operator
  DispatchKeySet keys;                    // (arguments | include) - exclude
  std::vector<ConsideredKey> considered;  // highest first
  DispatchKey key;                        // where the call goes
  bool has_kernel;                        // whether it finds one there
  std::string kernel;                     // "kernel registered at …", or why there is none
  // The keys below that one, as a kernel finds them that redispatches with what is left of its set:
  // each kernel that would be reached, and what is passed over. Empty if nothing is left.
  std::vector<ConsideredKey> chain;
  std::string body;  // of a composite kernel, its text: see registry/composite.h
};

// `arguments` as call_boxed() takes them. Raises what it raises for wrong ones.
OPYARD_API Explanation explain(const Operator& op, std::span<const Value> arguments);

// A table for people, some ten lines.
OPYARD_API std::string to_string(const Explanation& explanation);

// The route of a call with this key set, as lines for an error message.
OPYARD_API std::string explain_route(const Operator& op, DispatchKeySet keys);
// The same for a call that came to `keys` and whose arguments carry `arguments`: with the keys
// that were passed over before, unless it was redispatched there.
OPYARD_API std::string explain_route(const Operator& op, DispatchKeySet keys,
                                     DispatchKeySet arguments);

}  // namespace opyard
