// kernels/neural/normalisation.cpp: layer, group, batch and instance normalisation, and that by the
// root of the mean square.
//
// All are compositions: what they call is taped, so that gradients of every order are those of
// its parts.
#include <algorithm>

#include "common/broadcast.h"
#include "common/define.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "geometry/symbolic_calls.h"
#include "neural/half_moments.h"
#include "neural/one_pass.h"

namespace opyard::kernels {
namespace {

using namespace ops;

struct Moments {
  Tensor apart;  // from the mean
  Tensor mean, variance;
};
Moments moments(const Tensor& x, IntSpan dims) {
  const Tensor middle = mean(x, dims, true);
  const Tensor apart = x - middle;
  return {apart, middle, mean(apart * apart, dims, true)};
}

// Of a weight or bias, for dimension 1 of as many.
Tensor weights_by_channel(const Tensor& x, std::int64_t dims) {
  DimVector sizes(std::size_t(std::max<std::int64_t>(dims, 2)), 1);
  sizes[1] = x.numel();
  return reshape(x, sizes);
}
Tensor with_weight_and_bias(Tensor x, const MaybeTensor& weight, const MaybeTensor& bias) {
  if (weight) x = x * *weight;
  if (bias) x = x + *bias;
  return x;
}
MaybeTensor spread(const MaybeTensor& x, std::int64_t dims) {
  return x ? MaybeTensor(weights_by_channel(*x, dims)) : std::nullopt;
}

DimVector last_dims(const char* op, const Tensor& input, IntSpan shape, const MaybeTensor& weight) {
  require_inexact(op, "input", input);
  require_not_complex(op, "input", input);
  const IntSpan sizes = input.sizes();
  if (shape.empty() || shape.size() > sizes.size() ||
      !std::ranges::equal(shape, sizes.last(shape.size())) ||
      (weight && !std::ranges::equal(shape, weight->sizes()))) {
    refuse(ErrorKind::BadShape,
           {op, ": input is ", input, " and normalized_shape is ", shape,
            "; its last sizes, which are weight's and bias's too, are needed"});
  }
  DimVector dims;
  for (std::size_t i = sizes.size() - shape.size(); i < sizes.size(); ++i) {
    dims.push_back(std::int64_t(i));
  }
  return dims;
}

Three by_last_dims(const char* op, const Tensor& input, IntSpan normalized_shape,
                   const MaybeTensor& weight, const MaybeTensor& bias, double eps) {
  const DimVector dims = last_dims(op, input, normalized_shape, weight ? weight : bias);
  return in_float32(
      input, weight, bias,
      [&](const Tensor& x, const MaybeTensor& factor, const MaybeTensor& added) -> Three {
        const bool fits = !added || std::ranges::equal(added->sizes(), normalized_shape);
        if (fits && is_one_pass(x, {or_null(factor), or_null(added)})) {
          return normalised_rows(x, std::int64_t(dims.size()), factor, added, eps);
        }
        const Moments m = moments(x, dims);
        const Tensor rstd = rsqrt(m.variance + eps);
        return {with_weight_and_bias(m.apart * rstd, factor, added), m.mean, rstd};
      });
}
Three native_layer_norm(const Tensor& input, IntSpan normalized_shape, const MaybeTensor& weight,
                        const MaybeTensor& bias, double eps) {
  return by_last_dims("aten::native_layer_norm", input, normalized_shape, weight, bias, eps);
}
Tensor layer_norm(const Tensor& input, IntSpan normalized_shape, const MaybeTensor& weight,
                  const MaybeTensor& bias, double eps, bool /*cudnn_enable*/) {
  return std::get<0>(by_last_dims("aten::layer_norm", input, normalized_shape, weight, bias, eps));
}

// The gradient of (x - mean) * rstd, where `scaled_grad` is that of it.
Tensor through_moments(const Tensor& scaled_grad, const Tensor& normal, const Tensor& rstd,
                       IntSpan dims) {
  return (scaled_grad - mean(scaled_grad, dims, true) -
          normal * mean(scaled_grad * normal, dims, true)) *
         rstd;
}

Three native_layer_norm_backward(const Tensor& grad_out, const Tensor& input,
                                 IntSpan normalized_shape, const Tensor& middle, const Tensor& rstd,
                                 const MaybeTensor& weight, const MaybeTensor& /*bias*/,
                                 const std::array<bool, 3>& output_mask) {
  const DimVector dims =
      last_dims("aten::native_layer_norm_backward", input, normalized_shape, weight);
  if (is_half(input) || is_half(grad_out)) {
    const Three wide = native_layer_norm_backward(widened(grad_out), widened(input),
                                                  normalized_shape, widened(middle), widened(rstd),
                                                  widened(weight), {}, output_mask);
    return gradients_as(wide, input, weight);
  }
  const Tensor normal = (input - middle) * rstd;
  DimVector lead;
  for (std::int64_t i = 0; i < input.dim() - std::int64_t(dims.size()); ++i) lead.push_back(i);
  const auto over_lead = [&](const Tensor& x) { return lead.empty() ? x : sum(x, lead); };
  Three result;
  if (output_mask[0]) {
    std::get<0>(result) =
        through_moments(weight ? grad_out * *weight : grad_out, normal, rstd, dims);
  }
  if (output_mask[1]) std::get<1>(result) = over_lead(grad_out * normal);
  if (output_mask[2]) std::get<2>(result) = over_lead(grad_out);
  return result;
}

Tensor rms_norm(const Tensor& input, IntSpan normalized_shape, const MaybeTensor& weight,
                std::optional<double> eps) {
  const DimVector dims = last_dims("aten::rms_norm", input, normalized_shape, weight);
  const double least = input.dtype() == DType::Float64 ? 0x1p-52 : 0x1p-23;
  const Tensor x = widened(input);
  const Tensor scale = rsqrt(mean(x * x, dims, true) + eps.value_or(least));
  const Tensor result =
      with_weight_and_bias(x * scale, is_half(input) ? widened(weight) : weight, std::nullopt);
  return is_half(input) ? to(result, input.dtype()) : result;
}

constexpr std::int64_t kLast[] = {2};

void require_groups(const char* op, const Tensor& input, std::int64_t n, std::int64_t channels,
                    std::int64_t hw, std::int64_t groups) {
  if (groups < 1 || channels % groups != 0) {
    refuse(ErrorKind::BadValue, {op, ": input is ", input, " and the number of groups is ", groups,
                                 "; it must divide the number of channels, ", channels});
  }
  std::int64_t numel = 0;
  if (n < 0 || channels < 0 || hw < 0 || __builtin_mul_overflow(n, channels, &numel) ||
      __builtin_mul_overflow(numel, hw, &numel) || numel != input.numel()) {
    refuse(ErrorKind::BadShape,
           {op, ": input is ", input, ", N is ", n, ", C is ", channels, " and HxW is ", hw,
            "; their product must be the number of elements, ", input.numel()});
  }
}

// Raises BadShape.
void require_for_channels(const char* op, const Tensor& input, const NamedTensor& given,
                          std::int64_t channels) {
  if (given.tensor.dim() == 1 && given.tensor.numel() == channels) return;
  refuse(ErrorKind::BadShape, {op, ": ", given.name, " is ", given.tensor, " and input is ", input,
                               ", of ", channels, " channels; a vector of as many is needed"});
}
void require_for_channels(const char* op, const Tensor& input, const MaybeTensor& weight,
                          const MaybeTensor& bias, std::int64_t channels) {
  if (weight) require_for_channels(op, input, {"weight", *weight}, channels);
  if (bias) require_for_channels(op, input, {"bias", *bias}, channels);
}

// A weight and a bias of channels.
Tensor by_channel(const Tensor& x, const MaybeTensor& weight, const MaybeTensor& bias) {
  if (weight && x.dim() > 1 && x.sizes()[1] == weight->numel() &&
      is_one_pass(x, {&*weight, or_null(bias)})) {
    return normalised_channels(x, zeros(*weight, weight->sizes()), *weight, std::nullopt, bias);
  }
  return with_weight_and_bias(x, spread(weight, x.dim()), spread(bias, x.dim()));
}
// Over the last dimension.
Three normal_rows(const Tensor& x, double eps) {
  if (is_one_pass(x, {})) return normalised_rows(x, 1, std::nullopt, std::nullopt, eps);
  const Moments m = moments(x, kLast);
  const Tensor rstd = rsqrt(m.variance + eps);
  return {m.apart * rstd, m.mean, rstd};
}

Three native_group_norm(const Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias,
                        std::int64_t n, std::int64_t c, std::int64_t hw, std::int64_t group,
                        double eps) {
  require_inexact("aten::native_group_norm", "input", input);
  require_not_complex("aten::native_group_norm", "input", input);
  require_groups("aten::native_group_norm", input, n, c, hw, group);
  require_for_channels("aten::native_group_norm", input, weight, bias, c);
  const std::array parts = {n, group, c / group * hw};
  const std::array flat = {n, group};
  return in_float32(
      input, weight, bias,
      [&](const Tensor& x, const MaybeTensor& factor, const MaybeTensor& added) -> Three {
        const auto [apart, middle, rstd] = normal_rows(reshape(x, parts), eps);
        const Tensor normal = reshape(apart, x.sizes());
        return {by_channel(normal, factor, added), reshape(middle, flat), reshape(rstd, flat)};
      });
}
Tensor group_norm(const Tensor& input, std::int64_t num_groups, const MaybeTensor& weight,
                  const MaybeTensor& bias, double eps, bool /*cudnn_enabled*/) {
  require_inexact("aten::group_norm", "input", input);
  require_not_complex("aten::group_norm", "input", input);
  if (input.dim() < 2) {
    refuse(ErrorKind::BadShape,
           {"aten::group_norm: input is ", input, "; at least two dimensions are needed"});
  }
  const std::int64_t n = input.sizes()[0], c = input.sizes()[1];
  const std::int64_t hw = count_elements(input.sizes().subspan(2));
  require_groups("aten::group_norm", input, n, c, hw, num_groups);
  require_for_channels("aten::group_norm", input, weight, bias, c);
  return std::get<0>(native_group_norm(input, weight, bias, n, c, hw, num_groups, eps));
}
Three native_group_norm_backward(const Tensor& grad_out, const Tensor& input, const Tensor& middle,
                                 const Tensor& rstd, const MaybeTensor& weight, std::int64_t n,
                                 std::int64_t c, std::int64_t hw, std::int64_t group,
                                 const std::array<bool, 3>& output_mask) {
  require_inexact("aten::native_group_norm_backward", "input", input);
  require_not_complex("aten::native_group_norm_backward", "input", input);
  require_groups("aten::native_group_norm_backward", input, n, c, hw, group);
  if (is_half(input) || is_half(grad_out)) {
    const Three wide =
        native_group_norm_backward(widened(grad_out), widened(input), widened(middle),
                                   widened(rstd), widened(weight), n, c, hw, group, output_mask);
    return gradients_as(wide, input, weight);
  }
  const std::array parts = {n, group, c / group * hw}, single = {n, group, std::int64_t{1}};
  const std::array channels = {n, c, hw};
  const Tensor scale = reshape(rstd, single);
  const Tensor normal = (reshape(input, parts) - reshape(middle, single)) * scale;
  const MaybeTensor factor = spread(weight, input.dim());
  constexpr std::int64_t kAllBut1[] = {0, 2};
  Three result;
  if (output_mask[0]) {
    const Tensor grad = reshape(factor ? grad_out * *factor : grad_out, parts);
    std::get<0>(result) = reshape(through_moments(grad, normal, scale, kLast), input.sizes());
  }
  const Tensor grad = reshape(grad_out, channels);
  if (output_mask[1]) std::get<1>(result) = sum(grad * reshape(normal, channels), kAllBut1);
  if (output_mask[2]) std::get<2>(result) = sum(grad, kAllBut1);
  return result;
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(
      m,
      {"native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, "
       "float eps) -> (Tensor, Tensor, Tensor)",
       "native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, "
       "Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, "
       "Tensor, Tensor)",
       "layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? "
       "bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor",
       "rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) "
       "-> Tensor",
       "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt "
       "HxW, int group, float eps) -> (Tensor, Tensor, Tensor)",
       "native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, "
       "Tensor? weight, SymInt N, SymInt C, SymInt HxW, int group, bool[3] output_mask) -> "
       "(Tensor, Tensor, Tensor)",
       "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float "
       "eps=1e-05, bool cudnn_enabled=True) -> Tensor"});
  m.impl("native_layer_norm", Kernel::with_symbolic<&native_layer_norm, &decide_symbolic>());
  m.impl("native_layer_norm_backward",
         Kernel::with_symbolic<&native_layer_norm_backward, &decide_symbolic>());
  m.impl("layer_norm", Kernel::with_symbolic<&layer_norm, &decide_symbolic>());
  m.impl("rms_norm", Kernel::with_symbolic<&rms_norm, &decide_symbolic>());
  m.impl("native_group_norm", Kernel::with_symbolic<&native_group_norm, &decide_symbolic>());
  m.impl("native_group_norm_backward",
         Kernel::with_symbolic<&native_group_norm_backward, &decide_symbolic>());
  m.impl("group_norm", &group_norm);
}

}  // namespace opyard::kernels
