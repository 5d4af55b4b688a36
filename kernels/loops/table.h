// loops/table.h: the table of functions that a build of the loops exports.
//
// The files of this folder are compiled into a library of their own for each build of the
// processor, with the same names: opyard_loops_baseline.so, opyard_loops_v3.so and
// opyard_loops_v4.so. The operators take the functions of the best build that the processor runs
// (src/common/builds.h). Where a build has null, the baseline's function is called, so that what is
// rare is compiled once.
//
// [Same bits] An element has the same bits in all builds, but for those of a NaN, after + - * / and
// sqrt, comparison, selection, conversion, rounding, summation and normalisation: no build makes
// one instruction of a product and a sum (meson.build), and sums have one order (sums.h).
// Functions of packets (packet_loops.h), convolutions, attention, and products of four rows and
// columns or more, have the same bits within a build, wherever an element is and however a factor
// lies. Smaller products are Eigen's.
//
// Depends on: attention.h, convolution.h, loop.h, matrix.h, normalisation.h, pooling.h, row_loop.h.
#pragma once

#include "loops/attention.h"
#include "loops/convolution.h"
#include "loops/loop.h"
#include "loops/matrix.h"
#include "loops/normalisation.h"
#include "loops/pooling.h"
#include "loops/row_loop.h"

namespace opyard::kernels {

struct ArithmeticLoops {
  Loops add, add_scaled, subtract, subtract_scaled, multiply, square, divide, truncate;
};
struct ComparisonLoops {
  Loops equal, unequal, less, less_or_equal, greater, greater_or_equal;
};
struct LogicalLoops {
  Loops logical_not, logical_and, logical_or, logical_xor;
  Loops bitwise_not, bitwise_and, bitwise_or, bitwise_xor;
};
struct SelectionLoops {
  Loops larger, smaller, positive, clamp, where;
};
struct UnaryLoops {
  Loops negative, absolute, reciprocal, square_root, reciprocal_root, cube, reciprocal_square;
  Loops ceiling, floor, nearest, truncated, fraction, sign;
};
struct TranscendentalLoops {
  Loops angle, arc_tangent, binary_logarithm, complementary_error_function, cosine;
  Loops decimal_logarithm, error_function, exponential, exponential_less_one,
      hyperbolic_arc_tangent, hyperbolic_cosine, hyperbolic_sine;
  Loops hyperbolic_tangent, logarithm, logarithm_of_one_more, logistic, power_of_two, sine, tangent;
};
struct ActivationLoops {
  Loops gelu, gelu_by_tanh, hard_logistic, hard_swish, leaky, log_logistic, silu;
};

struct SumLoops {
  RowsOf sum;
  std::array<PieceLoop, kComputedCount> pieces;
};
struct ExtremeLoops {
  RowsOf largest, smallest;
};
struct SoftmaxLoops {
  RowsOf softmax, log_softmax;
};

struct ProductLoops {
  ProductLoop<float> float32;
  ProductLoop<double> float64;
};

struct ConvolutionLoops {
  StripLoop<float> float32;
  StripLoop<double> float64;
};

struct NormalisationLoops {
  RowNormLoop<float> rows_float32;
  RowNormLoop<double> rows_float64;
  ChannelNormLoop<float> channels_float32;
  ChannelNormLoop<double> channels_float64;
};

struct PoolingLoops {
  PoolRowLoop<std::int64_t> largest_int64;
  PoolRowLoop<float> largest_float32;
  PoolRowLoop<double> largest_float64;
};

struct AttentionLoops {
  AttentionLoop<float> float32;
  AttentionLoop<double> float64;
};

// Function pointers and nothing else.
struct LoopTable {
  ArithmeticLoops arithmetic;
  ComparisonLoops comparison;
  LogicalLoops logical;
  SelectionLoops selection;
  UnaryLoops unary;
  TranscendentalLoops transcendental;
  ActivationLoops activations;
  SumLoops sums;
  ExtremeLoops extremes;
  SoftmaxLoops softmax;
  ProductLoops products;
  ConvolutionLoops convolution;
  NormalisationLoops normalisation;
  PoolingLoops pooling;
  AttentionLoops attention;
};

// Of opyard_loops_v1(). `bytes` tells a table of another version of the file.
struct LoopBuild {
  std::uint64_t bytes;
  const char* name;
  LoopTable table;
};

}  // namespace opyard::kernels

// What a build exports, and nothing else.
extern "C" __attribute__((visibility("default"))) const opyard::kernels::LoopBuild*
opyard_loops_v1();
