// opyard/ffi/c_error.h: errors of C functions and for C programs. C99 and C++.
//
// A failure is a status and one error stored for the thread: a kind and a text.
//
//   int scale(DLTensor* x, double factor) {                    double root(double x) {
//     if (x->dtype.bits != 64)                                   if (x < 0)
//       return opyard_set_error(OPYARD_ERROR_BadArgument,          opyard_set_error(OPYARD_ERROR_BadValue,
//                               "scale takes float64");                             "root of a negative number");
//     …                                                          return sqrt(x);
//     return OPYARD_OK;                                        }
//   }
//
// A caller of a function of an operator that returns no status asks opyard_last_error().
// A success leaves the thread's error as it was, as with errno.
//
// Depends on: base/error_kinds.def.
#pragma once

#include "opyard/base/export.h"

#ifdef __cplusplus
extern "C" {
#endif

// 0, or 1 + the position of a kind in base/error_kinds.def.
enum opyard_status {
  OPYARD_OK = 0,
#define OPYARD_ERROR_KIND(kind, python, meaning) OPYARD_ERROR_##kind,
#include "opyard/base/error_kinds.def"
#undef OPYARD_ERROR_KIND
  OPYARD_STATUS_COUNT
};

// Sets this thread's error in place of the former one, and gives `status` back. The text is
// copied; a null pointer is an empty one. A status that is none of the above is stored as
// OPYARD_ERROR_Foreign, and OPYARD_OK as OPYARD_ERROR_Internal.
OPYARD_API int opyard_set_error(int status, const char* message);

// The text of this thread's error, or null if there is none. It stays until the next call on
// this thread that fails, or takes or clears the error.
OPYARD_API const char* opyard_last_error(void);

// Its status, or OPYARD_OK if there is none.
OPYARD_API int opyard_last_status(void);

OPYARD_API void opyard_clear_error(void);

#ifdef __cplusplus
}
#endif
