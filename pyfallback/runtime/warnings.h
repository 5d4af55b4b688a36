// runtime/warnings.h: warnings of C++ code as Python's.
//
// [Now or later] A kernel that warns is in the midst of its work, perhaps while an exception is on
// its way. So where its call came from Python, on this thread, the warning waits until the border
// function returns, also if the call has released the GIL meanwhile. Then filters see it; where one
// makes an error of it, the call fails with that, unless it has failed already: the first error
// wins, and the warning is shown beside it. On a thread without such a function, as on a native
// one, the warning is issued at once, and an error that a filter makes of it is thrown by warn(),
// so that the code that warns can undo its work.
//
// A border function is one of this module; or one of another extension module, which says so by a
// ForeignBorder.
//
// Depends on: opyard/base/warning.h.
#pragma once

#include "opyard/detail/python/python.h"

#include <cstdint>

#include "opyard/base/warning.h"

namespace opyard::python {

// A handler for set_warning_handler(). Any thread.
void warn_in_python(const Warning& warning);

// The frame of the border function that is returned to at this address; 0 if there is none.
std::uintptr_t find_border_frame(const void* return_address) noexcept;

// Says what waits on this thread for the border function of this frame, or all that waits for 0.
// False with an exception set where a filter makes an error of one; the others are said
// nonetheless. With the GIL held and no exception set.
bool say_waiting_warnings(std::uintptr_t frame) noexcept;

// The border function of another module in which this thread is, the innermost one, for a scope.
class ForeignBorder {
 public:
  // `frame` is where the stack of the border function ends while it calls others.
  explicit ForeignBorder(std::uintptr_t frame) noexcept : former_(innermost) { innermost = frame; }
  ForeignBorder(const ForeignBorder&) = delete;
  ForeignBorder& operator=(const ForeignBorder&) = delete;
  ~ForeignBorder() { innermost = former_; }

  static std::uintptr_t current() noexcept { return innermost; }

 private:
  static inline constinit __thread std::uintptr_t innermost
      __attribute__((tls_model("initial-exec"))) = 0;

  const std::uintptr_t former_;
};

// Python's category of a kind; borrowed.
PyObject* warning_category(WarningKind kind) noexcept;

}  // namespace opyard::python
