// kernels/library.cpp: claims the namespaces aten and opyard for this plugin.
//
// In aten are operators that PyTorch has, with its schemas and no others. What formulas of
// derivatives and the package itself need besides is in opyard.
//
// An operator is a block of text in kernels/operators/, or its schema is with its kernel in the
// file that holds it:
//
//   pointwise/   one element of the result from one of each input
//   reduction/   sum, extremes, truth, softmax
//   matrix/      linear, matmul and the products below them
//   neural/      what networks are made of: convolution, pooling, normalisation, losses, attention
//   geometry/    views, reshape, slice; metadata: questions about a tensor
//   indexing/    positions and lists: index, gather, join
//   creation/    factories, ranges, conversion, single numbers; meta: without elements
//   gradients/   formulas of derivatives, and the operators that they need
//   composition/ operators that call a few others in a row
//   common/      checks, dtypes, overlap, conversion and loops that they all use
#include <opyard/library.h>

OPYARD_LIBRARY(aten, m) {}
OPYARD_LIBRARY(opyard, m) {}
