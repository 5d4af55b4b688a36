// profiler/profile/in_order.h: the spans of a track as begins and ends, in the order of time.
//
// Depends on: profiler/profile.h.
#pragma once

#include <cstdint>
#include <vector>

#include "opyard/profiler/profile.h"

namespace opyard::profiler {

// Calls begin(index) and end(index): whatever began last ends first.
template <typename Begin, typename End>
void in_order(const Track& track, const Begin& begin, const End& end) {
  std::vector<std::uint32_t> open;
  for (std::uint32_t n = 0; n < track.spans.size(); ++n) {
    while (!open.empty() && open.back() != track.spans[n].parent) {
      end(open.back());
      open.pop_back();
    }
    begin(n);
    open.push_back(n);
  }
  for (; !open.empty(); open.pop_back()) end(open.back());
}

}  // namespace opyard::profiler
