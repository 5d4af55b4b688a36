// loops/chains.h: operations of arithmetic in a row, for groups of fused operators.
//
// What such a group costs in cache is loads and stores of what is between its operations; a chain
// holds it in registers. See opyard/jit/block_functions.h [Chains]. No kernel needs chains, so a
// build exports them apart from its table.
//
// Depends on: opyard/jit/block_functions.h.
#pragma once

#include <opyard/jit/block_functions.h>

namespace opyard::kernels {

struct ChainLoops {
  jit::BlockChain float32, float64;
};

}  // namespace opyard::kernels

extern "C" __attribute__((visibility("default"))) const opyard::kernels::ChainLoops*
opyard_loop_chains_v1();
