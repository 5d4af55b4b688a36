// runtime/warnings.h: warnings of C++ code as Python's.
//
// [Now or later] A kernel that warns is in the midst of its work, perhaps while an exception is on
// its way. So where its call came from Python, on this thread, the warning waits until the border
// function returns. Then filters see it; where one makes an error of it, the call fails with that,
// unless it has failed already: the first error wins, and the warning is shown beside it. On a
// thread without such a function, as on a native one, the warning is issued at once, and an error
// that a filter makes of it is thrown by warn(), so that the code that warns can undo its work.
//
// Depends on: opyard/base/warning.h.
#pragma once

#include "opyard/detail/python/python.h"

#include "opyard/base/warning.h"

namespace opyard::python {

// A handler for set_warning_handler(). Any thread.
void warn_in_python(const Warning& warning);

// Says what waits on this thread for the border function that is returned to at this address. False
// with an exception set where a filter makes an error of one; the others are said nonetheless. With
// the GIL held and no exception set.
bool say_waiting_warnings(const void* return_address) noexcept;

// Python's category of a kind; borrowed.
PyObject* warning_category(WarningKind kind) noexcept;

}  // namespace opyard::python
