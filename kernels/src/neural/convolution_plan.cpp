// kernels/neural/convolution_plan.cpp: sizes of convolutions, and their checks.
#include "neural/convolution_plan.h"

#include "neural/window_lists.h"

namespace opyard::kernels {
namespace {

void require_channels(const ConvolutionLists& lists, const Tensor& input, const Tensor& weight) {
  const std::int64_t groups = lists.groups;
  if (groups <= 0) {
    refuse(ErrorKind::BadValue, {lists.op, ": groups is ", groups, "; 1 or more is needed"});
  }
  const std::int64_t channels = input.sizes()[1];
  const std::int64_t first = weight.sizes()[0], second = weight.sizes()[1];
  const bool fits = lists.transposed ? channels == first : channels == second * groups;
  if (!fits || first % groups != 0) {
    refuse(ErrorKind::BadShape,
           {lists.op, ": input is ", input, ", weight is ", weight, " and groups is ", groups,
            lists.transposed ? "; the channels of input must be the first size of weight"
                             : "; the channels of input must be the second size of weight times "
                               "groups",
            ", and groups must divide the first size of weight"});
  }
}

}  // namespace

DimVector convolution_sizes(const ConvolutionLists& lists, const Tensor& input,
                            const Tensor& weight) {
  require_numbers(lists.op, "input", input);
  require_dims(lists.op, "input", input, 3, 5);
  require_dims(lists.op, "weight", weight, input.dim(), input.dim());
  require_dtype(lists.op, "weight", weight, input.dtype());
  const std::size_t dims = std::size_t(input.dim() - 2);
  require_list(lists.op, "stride", lists.stride, std::int64_t(dims), 1);
  require_list(lists.op, "padding", lists.padding, std::int64_t(dims), 0);
  require_list(lists.op, "dilation", lists.dilation, std::int64_t(dims), 1);
  if (lists.transposed)
    require_list(lists.op, "output_padding", lists.output_padding, std::int64_t(dims), 0);
  require_channels(lists, input, weight);
  DimVector sizes = {input.sizes()[0],
                     lists.transposed ? weight.sizes()[1] * lists.groups : weight.sizes()[0]};
  for (std::size_t i = 0; i < dims; ++i) {
    const std::int64_t size = input.sizes()[i + 2], kernel = weight.sizes()[i + 2];
    const std::int64_t stride = at_or_only(lists.stride, i);
    const std::int64_t padding = at_or_only(lists.padding, i);
    const std::int64_t reach = at_or_only(lists.dilation, i) * (kernel - 1) + 1;
    if (kernel < 1) {
      refuse(ErrorKind::BadShape, {lists.op, ": weight is ", weight, "; its kernel is empty"});
    }
    const std::int64_t count = lists.transposed ? (size - 1) * stride - 2 * padding + reach +
                                                      at_or_only(lists.output_padding, i)
                                                : (size + 2 * padding - reach) / stride + 1;
    if (count < 1 || (!lists.transposed && size + 2 * padding < reach)) {
      refuse(ErrorKind::BadShape,
             {lists.op, ": input is ", input, ", weight is ", weight, ", padding is ",
              lists.padding, " and dilation is ", lists.dilation, "; dimension ",
              std::int64_t(i + 2), " of the result would have no elements"});
    }
    sizes.push_back(count);
  }
  return sizes;
}

ConvolutionPlan plan_convolution(const ConvolutionLists& lists, IntSpan input, IntSpan weight,
                                 IntSpan result) {
  ConvolutionPlan plan;
  plan.batch = input[0];
  plan.groups = lists.groups;
  plan.out = weight[0] / lists.groups;
  plan.in = weight[1];
  const std::size_t dims = input.size() - 2;
  for (std::size_t i = 0; i < dims; ++i) {
    const std::size_t to = 3 - dims + i;
    plan.windows.image[to] = (lists.transposed ? result : input)[i + 2];
    plan.windows.count[to] = (lists.transposed ? input : result)[i + 2];
    plan.windows.kernel[to] = weight[i + 2];
    plan.windows.stride[to] = at_or_only(lists.stride, i);
    plan.windows.padding[to] = at_or_only(lists.padding, i);
    plan.windows.dilation[to] = at_or_only(lists.dilation, i);
  }
  return plan;
}

}  // namespace opyard::kernels
