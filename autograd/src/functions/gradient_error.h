// autograd/functions/gradient_error.h: the class of errors of runs and of taped calls.
//
// Such an error keeps its kind, and has a name: a language that has a class of this name raises
// that. In Python it is what the kind says, and RuntimeError as well, which programs that were
// written for PyTorch catch. What carries an exception already stays as it is.
//
// Depends on: interpreter/error_class.h.
#pragma once

#include <string>

#include "opyard/interpreter/error_class.h"

// OPYARD_CHECK for a call that PyTorch refuses with RuntimeError.
#define OPYARD_CHECK_GRADIENT(condition, kind, message)                      \
  do {                                                                       \
    if (__builtin_expect(!(condition), 0)) {                                 \
      ::opyard::autograd::fail_gradient(::opyard::ErrorKind::kind, message); \
    }                                                                        \
  } while (false)

namespace opyard::autograd {

inline Error gradient_error(const Error& error) {
  const bool is_type = error.kind() == ErrorKind::BadArgument;
  const bool is_value = error.kind() == ErrorKind::BadValue || error.kind() == ErrorKind::BadShape;
  if (error.carried() || !(is_type || is_value)) return error;
  std::string name =
      is_type ? "opyard.autograd.GradientTypeError" : "opyard.autograd.GradientError";
  return {error.kind(), error.what(), make_counted<NamedError>(std::move(name))};
}

[[noreturn]] OPYARD_COLD inline void fail_gradient(ErrorKind kind, std::string message) {
  throw gradient_error(Error(kind, std::move(message)));
}

// A run, or what begins one.
template <typename Body>
auto with_gradient_errors(const Body& body) {
  try {
    return body();
  } catch (const Error& error) {
    throw gradient_error(error);
  }
}

}  // namespace opyard::autograd
