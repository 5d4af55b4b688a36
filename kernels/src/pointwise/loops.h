// kernels/pointwise/loops.h: loops for operators that are compiled once, for the baseline.
//
// What is worth a build for each processor is in kernels/loops/.
//
// Depends on: pointwise/elementwise.h, loops/elementwise_loops.h.
#pragma once

#include "loops/elementwise_loops.h"
#include "pointwise/elementwise.h"

namespace opyard::kernels {

// 0 or 1, of a uint64 that an int64 carries: loops/loop.h [Unsigned].
template <typename T>
struct SignOfUnsigned {
  static T apply(T x) { return T(x != 0); }
};
inline constexpr Loops kSignOfUnsigned = unary_loops<SignOfUnsigned, std::int64_t>();

}  // namespace opyard::kernels
