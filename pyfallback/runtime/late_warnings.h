// runtime/late_warnings.h: deferred warnings of C++ destructors.
//
// A destructor takes no GIL, and raises nothing. Where its thread holds the GIL, the warning is
// said at once; else it is stored here and a pending call of the main thread says it. Once the
// interpreter has ended nothing is said any more.
//
// Depends on: runtime/runtime.h.
#pragma once

#include <string>

namespace opyard::python {

// A handler for set_late_warning_handler(). Any thread.
void warn_late_in_python(const std::string& message) noexcept;

}  // namespace opyard::python
