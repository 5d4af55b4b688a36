// sampler/sampler.h: Sampler: a native thread that samples the stacks of an interpreter's threads.
//
// It never takes the GIL, and no lock that a thread of the program holds while it runs Python. A
// thread that took no CPU time since its last sample is where it was: it is not read again, and
// looked after more and more seldom, so that many threads that wait cost little.
//
// [Fork] fork() waits for the end of a sample. The child has no sampler: what was sampled is its
// parent's.
//
// Threads: as said at each function. Depends on: sampler/sampled_stacks.h,
// opyard/profiler/samples.h.
#pragma once

#include "opyard/detail/python/python.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "opyard/profiler/samples.h"

namespace opyard::python {

struct SamplerOptions {
  std::int64_t period_ns = 1'000'000;
  profiler::SampleBounds bounds;
  // No thread: Python calls sample_with_gil() at its own rate.
  bool with_gil = false;
};

// Begins to sample the interpreter of this thread, which holds the GIL. One in a process: raises
// BadRegistration if there is one. `word_index` is where code objects keep the tracer's word.
void start_sampler(const SamplerOptions& options, Py_ssize_t word_index);
// Whether one is on, whose interpreter this is or another's. Any thread.
bool has_sampler() noexcept;
// Of the one that is on: what its memory takes, and how many nodes it has. With the GIL.
std::size_t bytes_of_sampler();
// Takes one sample of all threads now, for a sampler without a thread; `stacks` are by their
// threads. With the GIL.
struct KnownStack {
  std::uint64_t ident;
  std::vector<profiler::SampledFrame> frames;  // outermost first
};
void sample_with_gil(const std::vector<KnownStack>& stacks);
// Ends it. With the GIL, which it lets go meanwhile. Raises BadRegistration if there is none of
// this interpreter.
profiler::Profile stop_sampler();

}  // namespace opyard::python
