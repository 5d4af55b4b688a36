// loops/kinds.h: parts of a build's table of loops.
//
// Depends on: table.h.
#pragma once

#include "loops/table.h"

namespace opyard::kernels {

extern const ArithmeticLoops kArithmetic;
extern const ComparisonLoops kComparison;
extern const LogicalLoops kLogical;
extern const SelectionLoops kSelection;
extern const UnaryLoops kUnary;
extern const TranscendentalLoops kTranscendental;
extern const ActivationLoops kActivations;
extern const SumLoops kSums;
extern const ExtremeLoops kExtremes;
extern const SoftmaxLoops kSoftmax;
extern const ProductLoops kProducts;
extern const ConvolutionLoops kConvolution;
extern const NormalisationLoops kNormalisation;
extern const PoolingLoops kPooling;
extern const AttentionLoops kAttention;

}  // namespace opyard::kernels
