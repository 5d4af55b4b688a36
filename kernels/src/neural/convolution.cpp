// kernels/neural/convolution.cpp: convolution and its gradients, and the operators that call it.
//
// The gradients are operators of their own, each of which is linear in two tensors, so that they
// can be differentiated as often as one likes (convolution_plan.h). convolution_backward is made of
// them.
#include <algorithm>

#include "common/builds.h"
#include "common/copy.h"
#include "common/define.h"
#include "common/kernels_block.h"
#include "common/ops.h"
#include "common/options.h"
#include "geometry/symbolic_calls.h"
#include "neural/convolution_plan.h"

namespace opyard::kernels {
namespace {

// As the products take it.
Tensor prepared_input(const char* op, const Tensor& x) { return row_major(op, in_carrier(op, x)); }

Tensor zeros_in(IntSpan sizes, DType dtype) {
  Tensor made = Tensor::empty(sizes, dtype);
  fill_elements(made, Number());
  return made;
}

Tensor convolution(const Tensor& input, const Tensor& weight, const MaybeTensor& bias,
                   IntSpan stride, IntSpan padding, IntSpan dilation, bool transposed,
                   IntSpan output_padding, std::int64_t groups) {
  const ConvolutionLists lists{"aten::convolution", stride,         padding, dilation,
                               transposed,          output_padding, groups};
  const DimVector sizes = convolution_sizes(lists, input, weight);
  if (bias) {
    require_dtype(lists.op, "bias", *bias, input.dtype());
    if (bias->dim() != 1 || bias->numel() != sizes[1]) {
      refuse(ErrorKind::BadShape, {lists.op, ": bias is ", *bias, " and weight is ", weight,
                                   "; a bias needs ", sizes[1], " elements in one dimension"});
    }
  }
  if (is_meta(input)) return empty_beside(input, sizes, input.dtype());
  const Tensor from = prepared_input(lists.op, input), by = prepared_input(lists.op, weight);
  const Tensor added = bias ? prepared_input(lists.op, *bias) : Tensor();
  const Tensor* const to_add = bias ? &added : nullptr;
  const Tensor result = Tensor::empty(sizes, from.dtype());
  const ConvolutionPlan plan = plan_convolution(lists, input.sizes(), weight.sizes(), sizes);
  if (transposed) {
    fill_channels(result, to_add);
    convolve_back(plan, from, by, result);
  } else {
    convolve(plan, from, by, to_add, result);
  }
  return converted(lists.op, result, input.dtype());
}

// For these sizes of input: what the plan of the call itself was.
ConvolutionPlan plan_again(const ConvolutionLists& lists, const Tensor& grad, IntSpan input,
                           IntSpan weight) {
  require_numbers(lists.op, "grad_output", grad);
  const Device meta{Backend::Meta};
  const DimVector sizes = convolution_sizes(lists, Tensor::empty(input, grad.dtype(), meta),
                                            Tensor::empty(weight, grad.dtype(), meta));
  if (!std::ranges::equal(sizes, grad.sizes())) {
    refuse(ErrorKind::BadShape, {lists.op, ": grad_output is ", grad, "; its sizes must be ", sizes,
                                 ", those of the result"});
  }
  return plan_convolution(lists, input, weight, sizes);
}

Tensor convolution_grad_input(const Tensor& grad_output, const Tensor& weight, IntSpan input_size,
                              IntSpan stride, IntSpan padding, IntSpan dilation, bool transposed,
                              IntSpan output_padding, std::int64_t groups) {
  const ConvolutionLists lists{"opyard::convolution_grad_input",
                               stride,
                               padding,
                               dilation,
                               transposed,
                               output_padding,
                               groups};
  require_cpu(lists.op, "grad_output", grad_output);
  require_dtype(lists.op, "weight", weight, grad_output.dtype());
  const ConvolutionPlan plan = plan_again(lists, grad_output, input_size, weight.sizes());
  if (is_meta(grad_output)) return empty_beside(grad_output, input_size, grad_output.dtype());
  const Tensor from = prepared_input(lists.op, grad_output), by = prepared_input(lists.op, weight);
  const Tensor result = zeros_in(input_size, from.dtype());
  transposed ? convolve(plan, from, by, nullptr, result) : convolve_back(plan, from, by, result);
  return converted(lists.op, result, grad_output.dtype());
}

Tensor convolution_grad_weight(const Tensor& grad_output, const Tensor& input, IntSpan weight_size,
                               IntSpan stride, IntSpan padding, IntSpan dilation, bool transposed,
                               IntSpan output_padding, std::int64_t groups) {
  const ConvolutionLists lists{"opyard::convolution_grad_weight",
                               stride,
                               padding,
                               dilation,
                               transposed,
                               output_padding,
                               groups};
  require_cpu(lists.op, "grad_output", grad_output);
  require_dtype(lists.op, "input", input, grad_output.dtype());
  const ConvolutionPlan plan = plan_again(lists, grad_output, input.sizes(), weight_size);
  if (is_meta(grad_output)) return empty_beside(grad_output, weight_size, grad_output.dtype());
  const Tensor from = prepared_input(lists.op, input), grad = prepared_input(lists.op, grad_output);
  const Tensor result = zeros_in(weight_size, from.dtype());
  transposed ? correlate(plan, grad, from, result) : correlate(plan, from, grad, result);
  return converted(lists.op, result, grad_output.dtype());
}

Tensor convolution_grad_bias(const Tensor& grad_output) {
  DimVector dims = {0};
  for (std::int64_t i = 2; i < grad_output.dim(); ++i) dims.push_back(i);
  return ops::sum(grad_output, dims);
}

using Gradient = Tensor(const Tensor&, const Tensor&, IntSpan, IntSpan, IntSpan, IntSpan, bool,
                        IntSpan, std::int64_t);

std::tuple<Tensor, Tensor, Tensor> convolution_backward(const Tensor& grad_output,
                                                        const Tensor& input, const Tensor& weight,
                                                        std::optional<IntSpan> /*bias_sizes*/,
                                                        IntSpan stride, IntSpan padding,
                                                        IntSpan dilation, bool transposed,
                                                        IntSpan output_padding, std::int64_t groups,
                                                        const std::array<bool, 3>& output_mask) {
  static constinit FoundOperator<Gradient> of_input("opyard::convolution_grad_input");
  static constinit FoundOperator<Gradient> of_weight("opyard::convolution_grad_weight");
  Tensor first, second, third;
  if (output_mask[0]) {
    first = of_input.call(grad_output, weight, input.sizes(), stride, padding, dilation, transposed,
                          output_padding, groups);
  }
  if (output_mask[1]) {
    second = of_weight.call(grad_output, input, weight.sizes(), stride, padding, dilation,
                            transposed, output_padding, groups);
  }
  if (output_mask[2]) third = convolution_grad_bias(grad_output);
  return {first, second, third};
}

}  // namespace

#define OPYARD_LISTS                                                                 \
  "SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] " \
  "output_padding, SymInt groups"
#define OPYARD_PASSED "stride, padding, dilation, transposed, output_padding, groups)"

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m, {"convolution(Tensor input, Tensor weight, Tensor? bias, " OPYARD_LISTS ") -> Tensor",
             "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? "
             "bias_sizes, " OPYARD_LISTS ", bool[3] output_mask) -> (Tensor, Tensor, Tensor)"});
  m.impl("convolution_backward", Kernel::with_symbolic<&convolution_backward, &decide_symbolic>());
  m.derivative("convolution",
               {{"input", "convolution_grad_input(grad, weight, sizes(input), " OPYARD_PASSED},
                {"weight", "convolution_grad_weight(grad, input, sizes(weight), " OPYARD_PASSED},
                {"bias", "convolution_grad_bias(grad)"}});
}

OPYARD_LIBRARY_FRAGMENT(opyard, m) {
  m.def(
      "convolution_grad_input(Tensor grad_output, Tensor weight, SymInt[] "
      "input_size, " OPYARD_LISTS ") -> Tensor");
  m.def(
      "convolution_grad_weight(Tensor grad_output, Tensor input, SymInt[] "
      "weight_size, " OPYARD_LISTS ") -> Tensor");
  m.def("convolution_grad_bias(Tensor grad_output) -> Tensor", &convolution_grad_bias);
  m.derivative(
      "convolution_grad_input",
      {{"grad_output", "convolution(grad, weight, None, " OPYARD_PASSED},
       {"weight", "convolution_grad_weight(grad_output, grad, sizes(weight), " OPYARD_PASSED}});
  m.derivative(
      "convolution_grad_weight",
      {{"grad_output", "convolution(input, grad, None, " OPYARD_PASSED},
       {"input", "convolution_grad_input(grad_output, grad, sizes(input), " OPYARD_PASSED}});
}
#undef OPYARD_LISTS
#undef OPYARD_PASSED

OPYARD_KERNELS(m) {
  name_build(m);
  m.impl("convolution", &convolution);
}
OPYARD_KERNELS_OF(opyard, m) {
  m.impl("convolution_grad_input", &convolution_grad_input);
  m.impl("convolution_grad_weight", &convolution_grad_weight);
}

}  // namespace opyard::kernels
