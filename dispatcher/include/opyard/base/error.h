// opyard/base/error.h: errors: kinds, the exception, its message.
//
// Inside C++ a failure is an exception of type opyard::Error. At the C and Python
// borders it becomes a status code plus one error stored per thread, because neither
// a C caller nor a function of a CPython type may see a C++ exception fly past. A failure of our
// own making is OPYARD_ASSERT, whose text says that it is our bug.
//
// A reader who only throws needs fail() and OPYARD_CHECK. A reader who writes a
// border function needs guarded() and take_error().
//
// Depends on: base/counted.h.
#pragma once

#include <cxxabi.h>

#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "opyard/base/counted.h"
#include "opyard/base/export.h"

namespace opyard {

enum class ErrorKind : int {
#define OPYARD_ERROR_KIND(kind, python, meaning) kind,
#include "opyard/base/error_kinds.def"
#undef OPYARD_ERROR_KIND
};

// What a border function returns: 0, or 1 + the kind's position in error_kinds.def.
enum class Status : int { Ok = 0 };

constexpr Status status_of(ErrorKind kind) { return Status(int(kind) + 1); }

OPYARD_API const char* name_of(ErrorKind kind) noexcept;

// An exception object of another language that travels inside an Error, so that the
// one that comes out at the far border is the one that went in. Only the language
// plugin that made it looks inside.
class OPYARD_API CarriedException : public Counted {
 public:
  // Raises the exception again in its language, whose lock the caller holds. False if that
  // language has ended since.
  virtual bool restore_with_lock_held() const noexcept = 0;
};

// The one exception type that Opyard throws. Copying shares the text; it never throws.
class OPYARD_API Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message, CountedPtr<CarriedException> carried = {});
  Error(const Error& other) noexcept;
  Error& operator=(const Error& other) noexcept;
  ~Error() override;

  ErrorKind kind() const noexcept;
  const char* what() const noexcept override;
  const CountedPtr<CarriedException>& carried() const noexcept;

  // The same failure with one more line of context below its text.
  Error with_context(std::string_view line) const;

 private:
  struct State;
  CountedPtr<State> state_;
};

// Throws Error. Cold and out of line, so that a check costs its caller one branch.
[[noreturn]] OPYARD_API OPYARD_COLD void fail(ErrorKind kind, std::string message);
[[noreturn]] OPYARD_API OPYARD_COLD void fail(ErrorKind kind, const char* message);

// The error this thread's last failed border call left behind; taking it clears it.
OPYARD_API std::optional<Error> take_error();

namespace detail {

OPYARD_API OPYARD_COLD Status remember_error(const Error& error) noexcept;
OPYARD_API OPYARD_COLD Status remember_error(ErrorKind kind, const char* message) noexcept;
[[noreturn]] OPYARD_API OPYARD_COLD void assertion_failed(const char* condition, const char* file,
                                                          int line);

}  // namespace detail

// For every function with a handler for abi::__forced_unwind. That exception has no object, so the
// reference that the handler binds is null, and the sanitizer of undefined behaviour says so.
// (GCC 12 makes this check under either name, so both are needed.)
#define OPYARD_CATCHES_FORCED_UNWIND __attribute__((no_sanitize("null", "alignment")))

// Runs `body` and turns whatever it throws into a status and this thread's error.
// Not noexcept: before Python 3.14 a thread that takes the GIL while Python ends is
// unwound by force, and that unwinding must pass through here untouched.
template <typename Body>
OPYARD_CATCHES_FORCED_UNWIND Status guarded(Body&& body) {
  try {
    std::forward<Body>(body)();
    return Status::Ok;
  } catch (abi::__forced_unwind&) {
    throw;  // a thread being ended is not an error
  } catch (const Error& error) {
    return detail::remember_error(error);
  } catch (const std::bad_alloc&) {
    return detail::remember_error(ErrorKind::OutOfMemory, "out of memory");
  } catch (const std::exception& error) {
    return detail::remember_error(ErrorKind::Foreign, error.what());
  } catch (...) {
    return detail::remember_error(ErrorKind::Foreign,
                                  "something was thrown that is no std::exception");
  }
}

}  // namespace opyard

// The caller is wrong: throws Error of the given kind. The message is built only on failure.
#define OPYARD_CHECK(condition, kind, message)            \
  do {                                                    \
    if (__builtin_expect(!(condition), 0)) {              \
      ::opyard::fail(::opyard::ErrorKind::kind, message); \
    }                                                     \
  } while (false)

// We are wrong. Checked in every build that is not a release.
#ifdef NDEBUG
#define OPYARD_ASSERT(condition) static_cast<void>(0)
#else
#define OPYARD_ASSERT(condition)                                          \
  do {                                                                    \
    if (__builtin_expect(!(condition), 0)) {                              \
      ::opyard::detail::assertion_failed(#condition, __FILE__, __LINE__); \
    }                                                                     \
  } while (false)
#endif
