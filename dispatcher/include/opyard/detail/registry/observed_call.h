// opyard/detail/registry/observed_call.h: a typed call that observers or watchers are told of.
//
// Observers and watchers are told by records that take boxes. A typed call need not box for them,
// unless one wants to see values: they are told on the way in and on the way out, and the call goes
// on to the kernel with its arguments as they are.
//
// Depends on: registry/operator.h, registry/watch.h.
#pragma once

#include "opyard/detail/registry/watch.h"
#include "opyard/registry/operator.h"

namespace opyard::detail {

// Whether a record watches calls and can do so without their values.
inline bool watches(const Record& record) {
  return record.role == RecordRole::Observe || record.role == RecordRole::Watch;
}
OPYARD_API bool wants_values(const Record& record) noexcept;
// What a slot that leads to a record of the role Watch leads to without it, as this thread sees it.
OPYARD_API const Record& record_behind(const Operator& op, DispatchKeySet keys) noexcept;

// Inside a CallDepth, for as long as the call.
class OPYARD_API ObservedCall {
 public:
  // Tells those whom `record` tells of calls.
  ObservedCall(const Operator& op, const Record& record, DispatchKeySet keys);
  ObservedCall(const ObservedCall&) = delete;
  ObservedCall& operator=(const ObservedCall&) = delete;
  ~ObservedCall();

  // Where the call goes on, and with which set.
  const Record& next() const noexcept { return *next_; }
  DispatchKeySet keys() const noexcept { return keys_; }

 private:
  const Operator& op_;
  DispatchKeySet keys_;
  const Record* next_;
  const RecordRole role_;
  // Of the role Watch: which watchers were told, of what, and which calls this thread was in
  // before.
  std::uint8_t told_ = 0;
  bool redispatch_ = false;
  bool boxed_ = false;
  // Of the role Observe: how many exceptions were on their way when the call began.
  int exceptions_ = 0;
  std::uint64_t outer_depth_ = 0;
  std::atomic<std::uint64_t>* note_ = nullptr;

  friend struct BoxedWatch;
  ObservedCall(const Operator& op, DispatchKeySet keys, Stack& stack);
  void begin_watching(std::span<const Value> arguments) noexcept;
  KernelRun kernel() const noexcept;
};

}  // namespace opyard::detail
