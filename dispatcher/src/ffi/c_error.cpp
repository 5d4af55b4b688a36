// ffi/c_error.cpp: this thread's error, as C sees it.
#include "opyard/ffi/c_error.h"

#include "base/thread_error.h"

using opyard::ErrorKind;
using opyard::Status;

static_assert(OPYARD_OK == int(Status::Ok));
#define OPYARD_ERROR_KIND(kind, python, meaning) \
  static_assert(OPYARD_ERROR_##kind == int(opyard::status_of(ErrorKind::kind)));
#include "opyard/base/error_kinds.def"
#undef OPYARD_ERROR_KIND

extern "C" {

int opyard_set_error(int status, const char* message) {
  const ErrorKind kind = status == OPYARD_OK                           ? ErrorKind::Internal
                         : status < 0 || status >= OPYARD_STATUS_COUNT ? ErrorKind::Foreign
                                                                       : ErrorKind(status - 1);
  opyard::detail::remember_error(kind, message == nullptr ? "" : message);
  return status;
}

const char* opyard_last_error(void) {
  if (!opyard::detail::thread_has_failed) return nullptr;
  const opyard::Error* const error = opyard::detail::thread_error_unchecked();
  return error == nullptr ? "out of memory" : error->what();
}

int opyard_last_status(void) {
  if (!opyard::detail::thread_has_failed) return OPYARD_OK;
  const opyard::Error* const error = opyard::detail::thread_error_unchecked();
  return int(opyard::status_of(error == nullptr ? ErrorKind::OutOfMemory : error->kind()));
}

void opyard_clear_error(void) { opyard::take_error(); }

}  // extern "C"
