// opyard/registry/watched.h: a typed call that somebody watches.
//
// Observers and the trace stand in slots as records that take boxes. A typed call need not box
// for them, unless an observer wants to see values: it is told on the way in and on the way out,
// and goes on to the kernel with its arguments as they are.
//
// Depends on: registry/operator.h.
#pragma once

#include "opyard/registry/operator.h"

namespace opyard::detail {

// Whether a record watches calls and can do so without their values.
inline bool watches(const Record& record) {
  return record.role == RecordRole::Observe || record.role == RecordRole::Trace;
}
OPYARD_API bool wants_values(const Record& record) noexcept;

// Inside a CallDepth, for as long as the call.
class OPYARD_API WatchedCall {
 public:
  // Tells whoever `record` stands for.
  WatchedCall(const Operator& op, const Record& record, DispatchKeySet keys);
  WatchedCall(const WatchedCall&) = delete;
  WatchedCall& operator=(const WatchedCall&) = delete;
  ~WatchedCall();

  // Where the call goes on, and with which set.
  const Record& next() const noexcept { return *next_; }
  DispatchKeySet keys() const noexcept { return keys_; }

 private:
  const Operator& op_;
  const RecordRole role_;
  DispatchKeySet keys_;
  const Record* next_;
  const int exceptions_;
  std::uint64_t outer_;  // the trace's depth around this call
};

}  // namespace opyard::detail
