// opyard/profiler/sink.h: output of exports, piece by piece.
//
// Depends on: nothing of ours.
#pragma once

#include <functional>
#include <string_view>

namespace opyard::profiler {

// Called with one piece after the other, of some ten thousand bytes. May throw, which ends the
// export.
using Sink = std::function<void(std::string_view)>;

}  // namespace opyard::profiler
