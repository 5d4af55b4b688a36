// opyard/base/warning.h: warnings, their handlers and their count.
//
// A host decides where warnings go: Python's filters when the plugin is loaded, else the
// standard error stream. warn() holds no lock while the handler runs.
//
//   warn(kind, text)            from a kernel: the handler may keep it until the call from the
//                               host is about to return, which then fails if a filter says so
//   warn_at_once(kind, text)    from code that undoes everything if a filter makes an error
//                               of the warning: what the handler throws comes out
//   warn_late(text)             from a destructor
//   OPYARD_WARN(kind, text)     warn() with the place in the source added
//   OPYARD_WARN_ONCE(…)         the same, the first time that this place is reached, or each time
//                               while set_warn_always(true) is in force
//
// Depends on: base/export.h.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "opyard/base/export.h"

namespace opyard {

enum class WarningKind : int {
#define OPYARD_WARNING_KIND(kind, python, meaning) kind,
#include "opyard/base/warning_kinds.def"
#undef OPYARD_WARNING_KIND
};

OPYARD_API const char* name_of(WarningKind kind) noexcept;

struct Warning {
  WarningKind kind;
  const std::string& message;
  bool at_once;  // the caller can undo what was done
};

// Is told each warning, on the thread that warns.
using WarningHandler = void (*)(const Warning& warning);

// Puts a handler in and returns the former one; null is the standard error stream.
OPYARD_API WarningHandler set_warning_handler(WarningHandler handler) noexcept;

OPYARD_API void warn(WarningKind kind, const std::string& message);
OPYARD_API void warn(const std::string& message);  // of kind User
OPYARD_API void warn_at_once(WarningKind kind, const std::string& message);

// Whether what is warned of once is warned of each time; for tests and for people who look for all
// places. Gives the former setting.
OPYARD_API bool set_warn_always(bool always) noexcept;
OPYARD_API bool warn_always() noexcept;

// What a destructor has to say. The handler neither waits, nor throws, nor runs code of a user
// if it cannot be sure that this is the place: it says the message later.
using LateWarningHandler = void (*)(const std::string& message) noexcept;
OPYARD_API LateWarningHandler set_late_warning_handler(LateWarningHandler handler) noexcept;

OPYARD_API void warn_late(const std::string& message) noexcept;

namespace detail {

OPYARD_API OPYARD_COLD void warn_from(WarningKind kind, std::string_view message, const char* file,
                                      int line);
// Whether this place has its turn.
inline bool has_turn(std::atomic<bool>& said) noexcept {
  return !said.exchange(true, std::memory_order_relaxed) || warn_always();
}

}  // namespace detail
}  // namespace opyard

// Warns from this line, each time or once a process. Raises what a handler makes of it.
#define OPYARD_WARN(kind, message) \
  ::opyard::detail::warn_from(::opyard::WarningKind::kind, message, __FILE__, __LINE__)

#define OPYARD_WARN_ONCE(kind, message)                       \
  do {                                                        \
    static constinit ::std::atomic<bool> opyard_said_{false}; \
    if (::opyard::detail::has_turn(opyard_said_)) {           \
      OPYARD_WARN(kind, message);                             \
    }                                                         \
  } while (false)
