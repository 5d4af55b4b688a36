// kernels/neural/window_lists.h: the lists of numbers that convolutions and pooling take: one for all
// dimensions, or one for each.
//
// Depends on: common/check.h.
#pragma once

#include "common/check.h"

namespace opyard::kernels {

// So that no product of two leaves 64 bits.
inline constexpr std::int64_t kMostOfWindow = 0x7FFF'FFFF;

constexpr std::int64_t at_or_only(IntSpan list, std::size_t i) {
  return list[list.size() == 1 ? 0 : i];
}

// Raises BadValue for a list of another length, and for numbers below `least`.
inline void require_list(const char* op, const char* name, IntSpan list, std::int64_t dims,
                         std::int64_t least) {
  bool fits = list.size() == 1 || std::int64_t(list.size()) == dims;
  for (const std::int64_t number : list) {
    fits = fits && number >= least && number <= kMostOfWindow;
  }
  if (!fits) {
    refuse(ErrorKind::BadValue, {op, ": ", name, " is ", list, "; one or ", dims, " numbers from ",
                                 least, " to ", kMostOfWindow, " are needed"});
  }
}

}  // namespace opyard::kernels
