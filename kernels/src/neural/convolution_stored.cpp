// kernels/neural/convolution_stored.cpp: convolution that adds a tensor and clamps as it stores.
//
// opyard::convolution_stored(input, weight, bias, stride, padding, dilation, groups, added, least,
// most) gives the bits of clamp(convolution(…) + added, least, most), without a pass over memory
// for each. relu is from 0 to infinity. It has no gradient: models are prepared with it for runs
// that need none. What does not fit in one pass, such as an `added` that broadcasts, is done by the
// operators.
#include "common/builds.h"
#include "common/copy.h"
#include "common/define.h"
#include "common/kernels_block.h"
#include "common/ops.h"
#include "common/options.h"
#include "neural/convolution_plan.h"

namespace opyard::kernels {
namespace {

constexpr const char* kConvolutionStored = "opyard::convolution_stored";

bool is_addend(const MaybeTensor& added, IntSpan sizes, const Tensor& input) {
  return added && added->defined() && added->dtype() == input.dtype() &&
         added->device() == input.device() && std::ranges::equal(added->sizes(), sizes);
}

// The operators themselves.
Tensor finished(const Tensor& sums, const MaybeTensor& added, double least, double most) {
  using Clamp = Tensor(const Tensor&, const std::optional<Scalar>&, const std::optional<Scalar>&);
  static constinit FoundOperator<Clamp> clamp("aten::clamp");
  const Tensor whole = added ? ops::operator+(sums, *added) : sums;
  return clamp.call(whole, Scalar(least), Scalar(most));
}

Tensor of_batch(const Tensor& input, const Tensor& weight, const MaybeTensor& bias, IntSpan stride,
                IntSpan padding, IntSpan dilation, std::int64_t groups, const MaybeTensor& added,
                double least, double most) {
  const ConvolutionLists lists{kConvolutionStored, stride, padding, dilation, false, {}, groups};
  const DimVector sizes = convolution_sizes(lists, input, weight);
  if (bias) {
    require_dtype(kConvolutionStored, "bias", *bias, input.dtype());
    if (bias->dim() != 1 || bias->numel() != sizes[1]) {
      refuse(ErrorKind::BadShape,
             {kConvolutionStored, ": bias is ", *bias, " and weight is ", weight, "; a bias needs ",
              sizes[1], " elements in one dimension"});
    }
  }
  const bool in_one_pass = !added || is_addend(added, sizes, input);
  if (is_meta(input)) {
    const Tensor sums = empty_beside(input, sizes, input.dtype());
    return in_one_pass ? sums : finished(sums, added, least, most);
  }
  const Tensor from = row_major(kConvolutionStored, input),
               by = row_major(kConvolutionStored, weight);
  const Tensor term = bias ? row_major(kConvolutionStored, *bias) : Tensor();
  const Tensor result = Tensor::empty(sizes, input.dtype());
  const ConvolutionPlan plan = plan_convolution(lists, input.sizes(), weight.sizes(), sizes);
  ConvolutionStore store;
  Tensor beside;
  if (in_one_pass) {
    if (added) beside = row_major(kConvolutionStored, *added);
    store = {added ? &beside : nullptr, least, most};
  }
  convolve(plan, from, by, bias ? &term : nullptr, result, store);
  return in_one_pass ? result : finished(result, added, least, most);
}

Tensor convolution_stored(const Tensor& input, const Tensor& weight, const MaybeTensor& bias,
                          IntSpan stride, IntSpan padding, IntSpan dilation, std::int64_t groups,
                          const MaybeTensor& added, double least, double most) {
  require_defined(kConvolutionStored, "input", input);
  require_defined(kConvolutionStored, "weight", weight);
  if (input.dtype() != DType::Float32 && input.dtype() != DType::Float64) {
    refuse(ErrorKind::Unsupported,
           {kConvolutionStored, ": input is ", input, "; accepted are float32 and float64"});
  }
  if (input.dim() + 1 != weight.dim()) {
    return of_batch(input, weight, bias, stride, padding, dilation, groups, added, least, most);
  }
  const Tensor sums = of_batch(ops::unsqueeze(input, 0), weight, bias, stride, padding, dilation,
                               groups, std::nullopt, -std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::infinity());
  return finished(ops::squeeze(sums, 0), added, least, most);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(opyard, m) {
  m.def(
      "convolution_stored(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] "
      "padding, SymInt[] dilation, SymInt groups, Tensor? added, float least, float most) -> "
      "Tensor");
}
OPYARD_KERNELS_OF(opyard, m) { m.impl("convolution_stored", &convolution_stored); }

}  // namespace opyard::kernels
