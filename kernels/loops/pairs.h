// loops/pairs.h: two operations of arithmetic in one pass, for groups of fused operators.
//
// What such a group costs in cache is loads and stores of blocks; a pair saves one of each. Both
// operations are those of arithmetic.cpp, and each is rounded by itself. No kernel needs pairs, so
// a build exports them apart from its table.
//
// Depends on: loop.h.
#pragma once

#include "loops/loop.h"

namespace opyard::kernels {

enum class PairOf : std::uint8_t { Add, Subtract, Multiply, Divide, count_ };

inline constexpr std::size_t kPairCount =
    2 * std::size_t(PairOf::count_) * std::size_t(PairOf::count_);

// Three operands, behind the written one: those of `first`, and the other one of `second`, which
// has what `first` gives on its left, or on its right.
constexpr std::size_t pair_index(PairOf first, PairOf second, bool is_right) {
  return 2 * (std::size_t(PairOf::count_) * std::size_t(first) + std::size_t(second)) +
         (is_right ? 1 : 0);
}

struct PairLoops {
  std::array<Loop, kPairCount> float32, float64;
};

}  // namespace opyard::kernels

extern "C" __attribute__((visibility("default"))) const opyard::kernels::PairLoops*
opyard_loop_pairs_v1();
