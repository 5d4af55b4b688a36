// kernels/neural/convolution_plan.h: checked parameters of a convolution, and its three
// products.
//
// A convolution is linear in its image and in its weight. With y = C(x, w) there are two more
// products, each of which has the other two as derivatives:
//
//   y = C(x, w)     images and weight give windows
//   x = X(y, w)     windows and weight give images, where each place sums what it was read for
//   w = W(x, y)     images and windows give the weight
//
// A transposed convolution is X, its gradients are C and W.
//
// Depends on: common/numbers.h, neural/windows.h.
#pragma once

#include <limits>

#include "common/numbers.h"
#include "neural/windows.h"

namespace opyard::kernels {

// The lists of a call, as they came.
struct ConvolutionLists {
  const char* op;
  IntSpan stride, padding, dilation;
  bool transposed;
  IntSpan output_padding;
  std::int64_t groups;
};

// Of C: `images` has `in` channels, `windows` has `out`. Both are row-major.
struct ConvolutionPlan {
  Windows windows;
  std::int64_t batch = 0, groups = 1;
  std::int64_t in = 0, out = 0;  // channels of a group

  std::int64_t image_count() const { return count_of(windows.image); }
  std::int64_t window_count() const { return count_of(windows.count); }
  std::int64_t depth() const { return in * count_of(windows.kernel); }
};

// The sizes of the result for these sizes of input and weight. Raises BadShape, BadValue.
DimVector convolution_sizes(const ConvolutionLists& lists, const Tensor& input,
                            const Tensor& weight);
// `input` and `weight` are those of the call; `result` are the sizes above. If it is transposed,
// images and windows have changed places.
ConvolutionPlan plan_convolution(const ConvolutionLists& lists, IntSpan input, IntSpan weight,
                                 IntSpan result);

// Each channel, the second dimension of a row-major tensor, is filled with its element of the bias,
// or with 0.
void fill_channels(const Tensor& to, const Tensor* bias);

// What convolve() stores of each sum, in one pass: the sum with an element of `added`, which is
// row-major with the sizes and dtype of the result, between two numbers; nan stays.
struct ConvolutionStore {
  const Tensor* added = nullptr;
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
};

// The products. Everything is row-major, of one dtype of visit_numbers(). The first is written to
// `to`, the bias, which may be null, in it; to the others, `to` is filled with what they are added
// to.
void convolve(const ConvolutionPlan& plan, const Tensor& images, const Tensor& weight,
              const Tensor* bias, const Tensor& to, const ConvolutionStore& store = {});
void convolve_back(const ConvolutionPlan& plan, const Tensor& windows, const Tensor& weight,
                   const Tensor& to);
void correlate(const ConvolutionPlan& plan, const Tensor& images, const Tensor& windows,
               const Tensor& to);

// Whether the first product is to be made without columns; it is by convolve().
bool is_direct(const ConvolutionPlan& plan, DType dtype);
void convolve_directly(const ConvolutionPlan& plan, const Tensor& images, const Tensor& weight,
                       const Tensor* bias, const Tensor& to, const ConvolutionStore& store);

}  // namespace opyard::kernels
