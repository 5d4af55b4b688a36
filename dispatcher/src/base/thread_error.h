// base/thread_error.h: the stored error of this thread: reading it, setting it aside.
//
// Depends on: base/error.h.
#pragma once

#include <optional>

#include "opyard/base/error.h"

namespace opyard::detail {

// Whether a border call on this thread failed and no one has taken its error since. One load: C
// functions whose result is their return value are asked after every call.
extern __thread bool thread_has_failed __attribute__((tls_model("initial-exec")));

// The error of that failure; null if there is none, or if there was no memory for it.
const Error* thread_error_unchecked() noexcept;

// Sets the error of an earlier failure on this thread aside for a scope.
class EarlierError {
 public:
  EarlierError() noexcept {
    if (__builtin_expect(thread_has_failed, 0)) set_aside();
  }
  EarlierError(const EarlierError&) = delete;
  EarlierError& operator=(const EarlierError&) = delete;
  ~EarlierError() {
    if (__builtin_expect(aside_.has_value(), 0)) remember_error(*aside_);
  }

 private:
  OPYARD_COLD void set_aside() noexcept { aside_ = take_error(); }
  std::optional<Error> aside_;
};

}  // namespace opyard::detail
