// loops/table.cpp: assembly of a build's table of loops.
//
// OPYARD_LOOPS_BUILD is the build's name, which meson.build gives.
#include "loops/table.h"

#include "loops/kinds.h"

const opyard::kernels::LoopBuild* opyard_loops_v1() {
  using namespace opyard::kernels;
  static const LoopBuild build{
      sizeof(LoopBuild), OPYARD_LOOPS_BUILD,
      LoopTable{kArithmetic, kComparison, kLogical, kSelection, kUnary, kTranscendental,
                kActivations, kSums, kExtremes, kSoftmax, kProducts, kConvolution, kNormalisation,
                kPooling, kAttention}};
  return &build;
}
