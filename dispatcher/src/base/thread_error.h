// base/thread_error.h: looking at the error that is kept for this thread, without taking it.
//
// Depends on: base/error.h.
#pragma once

#include "opyard/base/error.h"

namespace opyard::detail {

// Whether a border call on this thread failed and nobody has taken its error since. One load: C
// functions whose result is their return value are asked after every call.
extern __thread bool thread_has_failed __attribute__((tls_model("initial-exec")));

// The error of that failure; null where there is none, or where there was no memory for it.
const Error* thread_error_unchecked() noexcept;

}  // namespace opyard::detail
