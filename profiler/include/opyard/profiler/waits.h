// opyard/profiler/waits.h: kinds of waits, by the name of the function that waits.
//
// CPU time says that a call waited, not for what. A function in C that waits for one thing alone
// tells it by its name: `time.sleep`, `select.epoll.poll`. What a function of Python waits itself,
// it waits for the GIL or for a processor, which cannot be told apart. Of a row that calls are
// folded into it is not known.
//
// Depends on: profiler/averages.h.
#pragma once

#include <string_view>

#include "opyard/profiler/averages.h"

namespace opyard::profiler {

// "lock", "I/O", "sleep", "process", "signal", "GIL", "GIL or processor"; empty if it is not known.
OPYARD_API std::string_view waited_for(const AverageRow& row);

}  // namespace opyard::profiler
