// runtime/left_work.h: what C++ code left to be done where a call returns to Python.
//
// References that were dropped without the GIL, and warnings of kernels. Both are rare, so there is
// one number for them, which every border function looks at once on its way out: that look is all
// that either costs where there is none.
//
// Depends on: nothing of ours.
#pragma once

#include <atomic>

namespace opyard::python {

// How many pieces of work there are in the process. Whoever leaves one adds it first; who does it takes it
// off. Relaxed: a piece that is missed now is met at the next border.
inline constinit std::atomic<int> left_work{0};

inline bool has_left_work() noexcept { return left_work.load(std::memory_order_relaxed) != 0; }

// Does the work, with the GIL held. True where all went well; false with an exception set where a filter makes
// an error of a warning. An exception that is set beforehand stays, and wins.
bool do_left_work() noexcept;

}  // namespace opyard::python
