// runtime/deferred_work.h: deferred work: dropped references and warnings.
//
// References that were dropped without the GIL, and warnings of kernels. Both are rare, so they
// share one counter, which every border function reads once on its way out; that read is all that
// they cost if there are none.
//
// Depends on: nothing of ours.
#pragma once

#include <atomic>
#include <cstdint>

namespace opyard::python {

// How many pieces of work wait in the process. It is raised before a piece is stored and lowered
// when the piece is done. Relaxed: a piece that one border misses is done at the next.
inline constinit std::atomic<int> deferred_work{0};

inline bool has_deferred_work() noexcept {
  return deferred_work.load(std::memory_order_relaxed) != 0;
}

// Does the work, with the GIL held. False, with an exception set, if a filter turns a warning into
// an error. An exception that was set before stays set. `frame` is that of the border function: the
// caller, unless it is named.
bool do_deferred_work() noexcept;
bool do_deferred_work(std::uintptr_t frame) noexcept;

}  // namespace opyard::python
