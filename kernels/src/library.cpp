// kernels/library.cpp: claims the namespace aten for this plugin.
//
// Schemas and kernels are together in the file that holds the operator:
//
//   element by element   arithmetic, division, power, extremum, comparison, logical, unary, where
//   reductions           sum, extremes, truth, softmax
//   matrices             linear, matmul
//   geometry             view, reshape, slice
//   positions, lists     index, gather, join
//   questions            metadata
//   making, converting   factory, arange, like, conversion, number
#include <opyard/library.h>

OPYARD_LIBRARY(aten, m) {}
