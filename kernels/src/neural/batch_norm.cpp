// kernels/neural/batch_norm.cpp: normalisation of channels, over a batch and of each image.
//
// Compositions, as in normalisation.cpp. Running moments are written with what was computed, apart
// from its history.
#include <algorithm>

#include "common/define.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "neural/half_moments.h"
#include "neural/one_pass.h"

namespace opyard::kernels {
namespace {

using namespace ops;

Tensor statistics_by_channel(const Tensor& x, std::int64_t dims) {
  DimVector sizes(std::size_t(dims), 1);
  sizes[1] = x.numel();
  return reshape(x, sizes);
}
DimVector all_but_channels(const Tensor& input) {
  DimVector dims = {0};
  for (std::int64_t i = 2; i < input.dim(); ++i) dims.push_back(i);
  return dims;
}

struct Norm {
  const char* op;
  const Tensor& input;
  const MaybeTensor& weight;
  const MaybeTensor& bias;

  void check() const {
    require_inexact(op, "input", input);
    require_not_complex(op, "input", input);
    if (input.dim() < 2) {
      refuse(ErrorKind::BadShape,
             {op, ": input is ", input, "; at least two dimensions are needed"});
    }
    check_one("weight", weight);
    check_one("bias", bias);
  }
  void check_one(const char* name, const MaybeTensor& x) const {
    if (x && x->numel() != input.sizes()[1]) {
      refuse(ErrorKind::BadShape, {op, ": ", name, " is ", *x, " and input is ", input,
                                   "; an element is needed for each channel, the second size"});
    }
  }
  Tensor scaled(Tensor normal) const {
    if (weight) normal = normal * statistics_by_channel(*weight, input.dim());
    if (bias) normal = normal + statistics_by_channel(*bias, input.dim());
    return normal;
  }
  // See half_moments.h.
  template <typename Of>
  Three widely(const Of& of) const {
    return in_float32(
        input, weight, bias,
        [&](const Tensor& x, const MaybeTensor& factor, const MaybeTensor& added) -> Three {
          return of(Norm{op, x, factor, added});
        });
  }
  Three with(const Tensor& running_mean, const Tensor& running_var, double eps) const {
    check_one("running_mean", running_mean);
    check_one("running_var", running_var);
    if (is_half(input)) {
      return widely([&](const Norm& norm) {
        return norm.with(widened(running_mean), widened(running_var), eps);
      });
    }
    const Tensor scale = rsqrt(running_var + eps);
    const std::array<std::int64_t, 1> none = {0};
    const auto is_vector = [](const MaybeTensor& x) { return !x || x->dim() == 1; };
    const bool are_vectors =
        is_vector(running_mean) && is_vector(running_var) && is_vector(weight) && is_vector(bias);
    if (are_vectors &&
        is_one_pass(input, {&running_mean, &scale, or_null(weight), or_null(bias)})) {
      return {normalised_channels(input, running_mean, scale, weight, bias), zeros(input, none),
              zeros(input, none)};
    }
    const Tensor apart = input - statistics_by_channel(running_mean, input.dim());
    return {scaled(apart * statistics_by_channel(scale, input.dim())), zeros(input, none),
            zeros(input, none)};
  }
  Three of_batch(const MaybeTensor& running_mean, const MaybeTensor& running_var, double momentum,
                 double eps) const {
    if (is_half(input)) {
      return widely([&](const Norm& norm) {
        return norm.of_batch(running_mean, running_var, momentum, eps);
      });
    }
    const DimVector dims = all_but_channels(input);
    const std::array<std::int64_t, 1> channels = {input.sizes()[1]};
    const Tensor middle = mean(input, dims, true);
    const Tensor apart = input - middle;
    const Tensor variance = mean(apart * apart, dims, true);
    const Tensor rstd = rsqrt(variance + eps);
    const double count = double(input.numel()) / double(std::max<std::int64_t>(channels[0], 1));
    const auto move = [&](const char* name, const MaybeTensor& running, const Tensor& now) {
      if (!running) return;
      check_one(name, running);
      copy_into(*running, *running * (1 - momentum) + reshape(detach(now), channels) * momentum);
    };
    move("running_mean", running_mean, middle);
    move("running_var", running_var, variance * (count / std::max(count - 1, 1.0)));
    return {scaled(apart * rstd), reshape(middle, channels), reshape(rstd, channels)};
  }
};

Three normalised(const Norm& norm, const MaybeTensor& running_mean, const MaybeTensor& running_var,
                 bool training, double momentum, double eps) {
  norm.check();
  if (training) return norm.of_batch(running_mean, running_var, momentum, eps);
  if (!running_mean || !running_var) {
    refuse(ErrorKind::BadArgument, {norm.op,
                                    ": training is False, and running_mean or running_var is None; "
                                    "both are needed"});
  }
  return norm.with(*running_mean, *running_var, eps);
}
Three native_batch_norm(const Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias,
                        const MaybeTensor& running_mean, const MaybeTensor& running_var,
                        bool training, double momentum, double eps) {
  return normalised({"aten::native_batch_norm", input, weight, bias}, running_mean, running_var,
                    training, momentum, eps);
}
Three legit(const Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias,
            Tensor& running_mean, Tensor& running_var, bool training, double momentum, double eps) {
  return normalised({"aten::_native_batch_norm_legit", input, weight, bias}, running_mean,
                    running_var, training, momentum, eps);
}
Three no_stats(const Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias,
               bool /*training*/, double momentum, double eps) {
  return normalised({"aten::_native_batch_norm_legit.no_stats", input, weight, bias}, std::nullopt,
                    std::nullopt, true, momentum, eps);
}
Three no_training(const Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias,
                  const Tensor& running_mean, const Tensor& running_var, double momentum,
                  double eps) {
  return normalised({"aten::_native_batch_norm_legit_no_training", input, weight, bias},
                    running_mean, running_var, false, momentum, eps);
}
// The running moments are given back, those that were passed are not written.
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> functional(
    const Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias,
    const Tensor& running_mean, const Tensor& running_var, bool training, double momentum,
    double eps) {
  const Tensor new_mean = clone(running_mean), new_var = clone(running_var);
  const auto [out, save_mean, save_invstd] =
      normalised({"aten::_native_batch_norm_legit_functional", input, weight, bias}, new_mean,
                 new_var, training, momentum, eps);
  return {out, save_mean, save_invstd, new_mean, new_var};
}
Tensor batch_norm(const Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias,
                  const MaybeTensor& running_mean, const MaybeTensor& running_var, bool training,
                  double momentum, double eps, bool /*cudnn_enabled*/) {
  return std::get<0>(normalised({"aten::batch_norm", input, weight, bias}, running_mean,
                                running_var, training, momentum, eps));
}

Three native_batch_norm_backward(const Tensor& grad_out, const Tensor& input,
                                 const MaybeTensor& weight, const MaybeTensor& running_mean,
                                 const MaybeTensor& running_var, const MaybeTensor& save_mean,
                                 const MaybeTensor& save_invstd, bool train, double eps,
                                 const std::array<bool, 3>& output_mask) {
  const Norm norm{"aten::native_batch_norm_backward", input, weight, weight};
  norm.check();
  const MaybeTensor& middle = train ? save_mean : running_mean;
  if (!middle || !(train ? save_invstd : running_var)) {
    refuse(ErrorKind::BadArgument, {norm.op, ": train is ", train,
                                    "; save_mean and save_invstd are needed if it is True, "
                                    "running_mean and running_var if not"});
  }
  if (is_half(input)) {
    const Three wide = native_batch_norm_backward(
        widened(grad_out), widened(input), widened(weight), widened(running_mean),
        widened(running_var), widened(save_mean), widened(save_invstd), train, eps, output_mask);
    return gradients_as(wide, input, weight);
  }
  const std::int64_t dims = input.dim();
  const DimVector over = all_but_channels(input);
  const Tensor rstd = statistics_by_channel(train ? *save_invstd : rsqrt(*running_var + eps), dims);
  const Tensor normal = (input - statistics_by_channel(*middle, dims)) * rstd;
  Three result;
  if (output_mask[0]) {
    const Tensor grad = weight ? grad_out * statistics_by_channel(*weight, dims) : grad_out;
    std::get<0>(result) =
        train ? (grad - mean(grad, over, true) - normal * mean(grad * normal, over, true)) * rstd
              : grad * rstd;
  }
  if (output_mask[1]) std::get<1>(result) = sum(grad_out * normal, over);
  if (output_mask[2]) std::get<2>(result) = sum(grad_out, over);
  return result;
}

// A batch of one image with as many times the channels.
Tensor instance_norm(const Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias,
                     const MaybeTensor& running_mean, const MaybeTensor& running_var,
                     bool use_input_stats, double momentum, double eps, bool cudnn_enabled) {
  const Norm norm{"aten::instance_norm", input, weight, bias};
  norm.check();
  if (!use_input_stats) {
    return std::get<0>(normalised(norm, running_mean, running_var, false, momentum, eps));
  }
  if (is_half(input)) {
    return to(instance_norm(widened(input), widened(weight), widened(bias), running_mean,
                            running_var, true, momentum, eps, cudnn_enabled),
              input.dtype());
  }
  const std::int64_t batch = input.sizes()[0], channels = input.sizes()[1];
  DimVector sizes(input.sizes());
  sizes[0] = 1;
  sizes[1] = batch * channels;
  const Tensor joined = reshape(input, sizes);
  const std::array repeats = {batch};
  const std::array each = {batch, channels};
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan)> repeat("aten::repeat");
  const auto repeated = [&](const MaybeTensor& x) {
    return x ? MaybeTensor(repeat.call(*x, repeats)) : std::nullopt;
  };
  const MaybeTensor means = repeated(running_mean), variances = repeated(running_var);
  const MaybeTensor none;
  const Tensor normal =
      std::get<0>(Norm{norm.op, joined, none, none}.of_batch(means, variances, momentum, eps));
  const auto average = [&](const MaybeTensor& to, const MaybeTensor& from) {
    constexpr std::int64_t kFirst[] = {0};
    if (to) copy_into(*to, mean(reshape(*from, each), kFirst));
  };
  average(running_mean, means);
  average(running_var, variances);
  return norm.scaled(reshape(normal, input.sizes()));
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(
      m,
      {"native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
       "Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, "
       "Tensor)",
       "_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) "
       "running_mean, Tensor(b!) running_var, bool training, float momentum, float eps) -> "
       "(Tensor, Tensor, Tensor)",
       "_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool "
       "training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
       "_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor "
       "running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
       "_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor "
       "running_mean, Tensor running_var, bool training, float momentum, float eps) -> (Tensor, "
       "Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)",
       "native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? "
       "running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, "
       "float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
       "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
       "running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
       "instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
       "running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> "
       "Tensor"});
  m.impl("native_batch_norm", &native_batch_norm);
  m.impl("_native_batch_norm_legit", &legit);
  m.impl("_native_batch_norm_legit.no_stats", &no_stats);
  m.impl("_native_batch_norm_legit_no_training", &no_training);
  m.impl("_native_batch_norm_legit_functional", &functional);
  m.impl("native_batch_norm_backward", &native_batch_norm_backward);
  m.impl("batch_norm", &batch_norm);
  m.impl("instance_norm", &instance_norm);
}

}  // namespace opyard::kernels
