// opyard/observe/function_listener.h: listener for backward functions, on every thread.
//
// A taped call makes one, which takes gradients back when a backward runs it. `identity` and
// `sequence` are the same both times, so they link a run to the call that it is of.
//
// There is one listener at most, a profile. While there is none, making and running a function
// costs one load more.
//
// Depends on: base/export.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "opyard/base/export.h"

namespace opyard {

// A function as its library knows it, for the length of the call.
struct ToldFunction {
  // The listener's own, 0 at first, the same for all functions of this name; or null.
  std::atomic<std::uint32_t>* note;
  const void* identity;
  // Its number among those that its thread has made; the highest of all for what accumulates.
  std::uint64_t sequence;
  // "MulBackward0". Not while it is being made. Raises bad_alloc.
  std::string (*name)(const ToldFunction& told);
};

enum class FunctionMoment : std::uint8_t {
  Made,
  Begins,
  Ends,
  Calls,  // the call that it takes gradients back of is the next one on this thread
};

// On the thread that makes or runs it; Ends also if it throws. Must not throw.
using FunctionListener = void (*)(const ToldFunction& told, FunctionMoment moment) noexcept;
extern OPYARD_API std::atomic<FunctionListener> function_listener;

}  // namespace opyard
