// profiler/profile/ring_stack.h: open spans at the beginning of a ring buffer.
//
// Depends on: profiler/capture.h.
#pragma once

#include <vector>

#include "opyard/profiler/capture.h"

namespace opyard::profiler {

// `live` is what is open at the end, of Python alone. What is still open and was not entered in
// the slices was open at their begin, and so was what they only leave: exits carry their key.
// Throws std::bad_alloc.
StartStack stack_of_ring(const StartStack& live, const std::vector<Slice>& slices);

// Whether a thread has several stacks: then what was open in each is not known.
bool has_switches(const std::vector<Slice>& slices);

}  // namespace opyard::profiler
