// opyard/detail/thread/key_snapshot.h: the thread's key sets at the entry of a call.
//
// On their way down, layers change the thread's sets: autograd excludes itself, for one. A kernel
// below them may ask a tensor for its sizes, and if the tensor's class defines those, the
// handler that answers has to run as if its question had been asked where the call began. So a call
// with such a tensor has the key PythonTLSSnapshot, whose built-in kernel notes the sets
// (registry/handlers.h); the interpreter that asks puts them in place for the question.
//
// A handler begins anew: what runs inside it does not see the note of the call that led to it.
//
// Depends on: keys/local.h.
#pragma once

#include <optional>

#include "opyard/base/export.h"
#include "opyard/keys/local.h"

namespace opyard {

namespace detail {
// What is noted on this thread, or null: a local variable of the scope that noted it.
extern OPYARD_API __thread const LocalKeys* key_snapshot __attribute__((tls_model("initial-exec")));
}  // namespace detail

// Notes this thread's sets for a scope.
class TakeKeySnapshot {
 public:
  TakeKeySnapshot() noexcept : keys_(local_keys()), former_(detail::key_snapshot) {
    detail::key_snapshot = &keys_;
  }
  TakeKeySnapshot(const TakeKeySnapshot&) = delete;
  TakeKeySnapshot& operator=(const TakeKeySnapshot&) = delete;
  ~TakeKeySnapshot() { detail::key_snapshot = former_; }

 private:
  const LocalKeys keys_;
  const LocalKeys* const former_;
};

// Hides the note for a scope.
class HideKeySnapshot {
 public:
  HideKeySnapshot() noexcept : former_(detail::key_snapshot) { detail::key_snapshot = nullptr; }
  HideKeySnapshot(const HideKeySnapshot&) = delete;
  HideKeySnapshot& operator=(const HideKeySnapshot&) = delete;
  ~HideKeySnapshot() { detail::key_snapshot = former_; }

 private:
  const LocalKeys* const former_;
};

// Puts the sets that are noted in place for a scope; nothing if there is no note. What modes,
// the thread's own dispatcher and observers add to the sets stays as it is.
class OPYARD_API UseKeySnapshot {
 public:
  UseKeySnapshot() noexcept;
  UseKeySnapshot(const UseKeySnapshot&) = delete;
  UseKeySnapshot& operator=(const UseKeySnapshot&) = delete;
  ~UseKeySnapshot();

 private:
  std::optional<LocalKeys> former_;
};

}  // namespace opyard
