// opyard/registry/next.h: call_next: from a kernel to the one that it covers.
//
// Kernels of one operator and key form a stack (registry/registry.h), and the newest is called. It
// can hand the call on:
//
//   void counted(const Record& record, const Operator& op, DispatchKeySet keys, Stack& stack) {
//     ++calls;
//     call_next(op, place_of(record), keys, stack);
//   }
//
// That calls what would have served the call if this kernel, and all that were registered on top
// of it, were not there: the one below it in the stack; at the bottom what the key falls back on, a
// composite kernel, a fallback, the next layer, or the error that nothing is there. It is found at
// each call from what is registered then, so kernels may come and go below, in any order, also the
// one that is asking.
//
// Depends on: registry/operator.h.
#pragma once

#include <optional>

#include "opyard/registry/operator.h"

namespace opyard {

// A kernel's place in the stack of its key. Good for ever, also after the kernel's end.
struct KernelPlace {
  DispatchKey key = DispatchKey::Undefined;
  std::uint64_t order = 0;
};

// Of a record that was registered.
inline KernelPlace place_of(const Record& record) noexcept { return {record.key, record.order}; }

// Calls what is below a place, with the keys of the call and the arguments on top of the stack,
// which the results replace. Looks neither at the arguments nor, while the tables stay as they
// are, at the registry. Raises what a call raises.
OPYARD_API void call_next(const Operator& op, KernelPlace place, DispatchKeySet keys, Stack& stack);

// Runs a record that no slot leads to, such as a kernel that another one covers, and tells the
// watchers of it: as a kernel that the one above passed the call on to, or as a call by itself.
// Inside a CallDepth.
void run_covered(const Operator& op, const Record& record, DispatchKeySet keys, Stack& stack,
                 bool passed_on);

// The record that such a call runs, and in `keys` the set that it gets. Inside a CallDepth.
OPYARD_API const Record& next_record(const Operator& op, KernelPlace place, DispatchKeySet& keys);

// The record that serves this runtime key, if it was registered; nothing for what is built in.
OPYARD_API std::optional<KernelPlace> serving_place(const Operator& op, DispatchKey key);

// Calls the kernel at a place itself, whatever is on top of it, at this runtime key: it gets the
// key and what the set has below it. Raises OperatorGone if it is no longer registered; else as
// call_next(), and asks the registry at each call.
OPYARD_API void call_pinned(const Operator& op, KernelPlace place, DispatchKeySet keys,
                            Stack& stack);

}  // namespace opyard
