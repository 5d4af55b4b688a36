// kernels/neural/one_pass.cpp: the operators opyard::normalise_rows and opyard::normalise_channels.
#include "neural/one_pass.h"

#include <opyard/parallel.h>

#include <memory>
#include <vector>

#include "common/builds.h"
#include "common/copy.h"
#include "common/kernels_block.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "common/releasing.h"
#include "common/symbolic.h"
#include "neural/wide_floats.h"

namespace opyard::kernels {
namespace {

using namespace ops;
using Normalised = std::tuple<Tensor, Tensor, Tensor>;

constexpr const char* kNormaliseRows = "opyard::normalise_rows";
constexpr const char* kNormaliseChannels = "opyard::normalise_channels";

// A weight or bias of `count` elements; without one, what changes nothing.
template <typename T>
class NormFactors {
 public:
  NormFactors(const char* op, const MaybeTensor& given, std::int64_t count, T neutral)
      : given_(given ? row_major(op, *given) : Tensor()) {
    if (!given) neutral_.assign(std::size_t(count), neutral);
  }
  const T* data() const {
    return given_.defined() ? elements_of<const T>(given_) : neutral_.data();
  }

 private:
  Tensor given_;
  std::vector<T> neutral_;
};

void require_like(const char* op, const Tensor& x, const char* name, const MaybeTensor& given,
                  std::int64_t count) {
  if (!given) return;
  require_dtype(op, name, *given, x.dtype());
  if (given->numel() == count) return;
  refuse(ErrorKind::BadShape,
         {op, ": ", name, " is ", *given, " and x is ", x, "; ", count, " elements are needed"});
}

void require_last_dims(const char* op, std::int64_t dims, const Tensor& x) {
  require_defined(op, "x", x);
  if (dims >= 0 && dims <= x.dim()) return;
  refuse(ErrorKind::BadIndex, {op, ": dims is ", dims, " and x is ", x,
                               "; as many dimensions as x has are accepted at most"});
}

std::int64_t grain_of(std::int64_t length) {
  return std::max<std::int64_t>(kElementsOfAThread / std::max<std::int64_t>(length, 1), 1);
}

Normalised normalise_rows(const Tensor& given, std::int64_t dims, const MaybeTensor& weight,
                          const MaybeTensor& bias, double eps) {
  require_wide_floats(kNormaliseRows, "x", given);
  require_last_dims(kNormaliseRows, dims, given);
  const IntSpan sizes = given.sizes();
  const std::size_t lead = sizes.size() - std::size_t(dims);
  const std::int64_t length = count_elements(sizes.subspan(lead));
  require_like(kNormaliseRows, given, "weight", weight, length);
  require_like(kNormaliseRows, given, "bias", bias, length);
  DimVector of_rows(sizes);
  for (std::size_t i = lead; i < of_rows.size(); ++i) of_rows[i] = 1;
  const auto made = [&](IntSpan wanted) { return empty_beside(given, wanted, given.dtype()); };
  const Normalised result = {made(sizes), made(of_rows), made(of_rows)};
  if (is_meta(given)) return result;
  const Tensor x = row_major(kNormaliseRows, given);
  visit_floats(x, [&](auto sample) {
    using T = decltype(sample);
    const NormFactors<T> factor(kNormaliseRows, weight, length, T(1)),
        added(kNormaliseRows, bias, length, T(-0.0));
    const RowNormLoop<T> loop = [] {
      if constexpr (std::is_same_v<T, float>)
        return loops().normalisation.rows_float32;
      else
        return loops().normalisation.rows_float64;
    }();
    const std::int64_t rows = count_elements(of_rows);
    without_gil_for(x.numel(), [&] {
      parallel_for(0, rows, grain_of(length), [&](std::int64_t first, std::int64_t last) {
        const std::unique_ptr<T[]> squares(new T[std::size_t(length)]);
        loop({.length = length,
              .weight = factor.data(),
              .bias = added.data(),
              .eps = eps,
              .from = elements_of<const T>(x),
              .to = elements_of<T>(std::get<0>(result)),
              .mean = elements_of<T>(std::get<1>(result)),
              .scale = elements_of<T>(std::get<2>(result)),
              .squares = squares.get()},
             first, last);
      });
    });
  });
  return result;
}

Tensor normalise_channels(const Tensor& given, const Tensor& mean, const Tensor& scale,
                          const MaybeTensor& weight, const MaybeTensor& bias) {
  require_wide_floats(kNormaliseChannels, "x", given);
  if (given.dim() < 2) {
    refuse(ErrorKind::BadShape,
           {kNormaliseChannels, ": x is ", given, "; at least two dimensions are needed"});
  }
  const std::int64_t channels = given.sizes()[1];
  require_like(kNormaliseChannels, given, "mean", mean, channels);
  require_like(kNormaliseChannels, given, "scale", scale, channels);
  require_like(kNormaliseChannels, given, "weight", weight, channels);
  require_like(kNormaliseChannels, given, "bias", bias, channels);
  const Tensor result = empty_beside(given, given.sizes(), given.dtype());
  if (is_meta(given)) return result;
  const Tensor x = row_major(kNormaliseChannels, given);
  visit_floats(x, [&](auto sample) {
    using T = decltype(sample);
    const NormFactors<T> middle(kNormaliseChannels, mean, channels, T(0)),
        by(kNormaliseChannels, scale, channels, T(1));
    const NormFactors<T> factor(kNormaliseChannels, weight, channels, T(1));
    const NormFactors<T> added(kNormaliseChannels, bias, channels, T(-0.0));
    const std::int64_t length = count_elements(x.sizes().subspan(2));
    const ChannelNorm<T> norm{
        channels,      length,       middle.data(),           by.data(),
        factor.data(), added.data(), elements_of<const T>(x), elements_of<T>(result)};
    const ChannelNormLoop<T> loop = [] {
      if constexpr (std::is_same_v<T, float>)
        return loops().normalisation.channels_float32;
      else
        return loops().normalisation.channels_float64;
    }();
    const std::int64_t lines = x.sizes()[0] * channels;
    without_gil_for(x.numel(), [&] {
      parallel_for(0, lines, grain_of(length),
                   [&](std::int64_t first, std::int64_t last) { loop(norm, first, last); });
    });
  });
  return result;
}

// Of the normal x: a change of an element moves the mean and the scale of its row, too.
Tensor normalise_rows_grad(const Tensor& grad, const Tensor& of_mean, const Tensor& of_scale,
                           const Tensor& x, const Tensor& mean, const Tensor& scale,
                           std::int64_t dims, const MaybeTensor& weight) {
  require_last_dims("opyard::normalise_rows_grad", dims, x);
  DimVector last;
  double length = 1;
  for (std::int64_t i = x.dim() - dims; i < x.dim(); ++i) {
    last.push_back(i);
    length *= double(x.sizes()[std::size_t(i)]);
  }
  const Tensor normal = (x - mean) * scale, scaled = weight ? grad * *weight : grad;
  if (last.empty()) return scaled * 0;
  const Tensor along = ops::mean(scaled, last, true) - of_mean / (scale * length);
  const Tensor across = ops::mean(scaled * normal, last, true) + of_scale * scale / length;
  return (scaled - along - normal * across) * scale;
}
Tensor sum_of_rows(const Tensor& x, std::int64_t dims) {
  require_last_dims("opyard::sum_of_rows", dims, x);
  DimVector lead;
  for (std::int64_t i = 0; i < x.dim() - dims; ++i) lead.push_back(i);
  return lead.empty() ? x : sum(x, lead);
}

Tensor spread_channels(const char* op, const Tensor& x, const Tensor& like) {
  require_defined(op, "x", x);
  if (like.dim() < 2) {
    refuse(ErrorKind::BadShape,
           {op, ": grad or x is ", like, "; at least two dimensions are needed"});
  }
  DimVector sizes(like.sizes().size(), 1);
  sizes[1] = x.numel();
  return reshape(x, sizes);
}
Tensor normalise_channels_grad(const Tensor& grad, const Tensor& scale, const MaybeTensor& weight) {
  constexpr const char* kOp = "opyard::normalise_channels_grad";
  require_defined(kOp, "grad", grad);
  require_defined(kOp, "scale", scale);
  return grad * spread_channels(kOp, weight ? scale * *weight : scale, grad);
}
// Of the scale, before it is summed.
Tensor channels_scale_grad(const Tensor& grad, const Tensor& x, const Tensor& mean,
                           const MaybeTensor& weight) {
  constexpr const char* kOp = "opyard::channels_scale_grad";
  require_defined(kOp, "x", x);
  const Tensor product = grad * (x - spread_channels(kOp, mean, x));
  return weight ? product * spread_channels(kOp, *weight, x) : product;
}

}  // namespace

bool is_one_pass(const Tensor& x, std::initializer_list<const Tensor*> others) {
  const auto is_here = [&](const Tensor& each) {
    return each.device().backend == Backend::CPU && !has_symbolic_sizes(each);
  };
  if (!is_here(x) || (x.dtype() != DType::Float32 && x.dtype() != DType::Float64)) return false;
  if (!x.is_contiguous() || x.numel() == 0) return false;
  for (const Tensor* const each : others) {
    if (each != nullptr && (!is_here(*each) || each->dtype() != x.dtype())) return false;
  }
  return true;
}

Normalised normalised_rows(const Tensor& x, std::int64_t dims, const MaybeTensor& weight,
                           const MaybeTensor& bias, double eps) {
  static constinit FoundOperator<Normalised(const Tensor&, std::int64_t, const MaybeTensor&,
                                            const MaybeTensor&, double)>
      op(kNormaliseRows);
  return op.call(x, dims, weight, bias, eps);
}
Tensor normalised_channels(const Tensor& x, const Tensor& mean, const Tensor& scale,
                           const MaybeTensor& weight, const MaybeTensor& bias) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&, const Tensor&,
                                        const MaybeTensor&, const MaybeTensor&)>
      op(kNormaliseChannels);
  return op.call(x, mean, scale, weight, bias);
}

OPYARD_LIBRARY_FRAGMENT(opyard, m) {
  m.def(
      "normalise_rows(Tensor x, int dims, Tensor? weight, Tensor? bias, float eps) -> (Tensor, "
      "Tensor, Tensor)");
  m.def(
      "normalise_channels(Tensor x, Tensor mean, Tensor scale, Tensor? weight, Tensor? bias) -> "
      "Tensor");
  m.def(
      "normalise_rows_grad(Tensor grad, Tensor of_mean, Tensor of_scale, Tensor x, Tensor mean, "
      "Tensor scale, int dims, Tensor? weight) -> Tensor",
      &normalise_rows_grad);
  m.def("sum_of_rows(Tensor x, int dims) -> Tensor", &sum_of_rows);
  m.def("normalise_channels_grad(Tensor grad, Tensor scale, Tensor? weight) -> Tensor",
        &normalise_channels_grad);
  m.def("channels_scale_grad(Tensor grad, Tensor x, Tensor mean, Tensor? weight) -> Tensor",
        &channels_scale_grad);
  m.derivative(
      "normalise_rows",
      {{"x", "normalise_rows_grad(grad0, grad1, grad2, x, result1, result2, dims, weight)"},
       {"weight", "sum_of_rows(grad0 * ((x - result1) * result2), dims)"},
       {"bias", "sum_of_rows(grad0, dims)"}});
  m.derivative(
      "normalise_channels",
      {{"x", "normalise_channels_grad(grad, scale, weight)"},
       {"mean", "-convolution_grad_bias(normalise_channels_grad(grad, scale, weight))"},
       {"scale", "convolution_grad_bias(channels_scale_grad(grad, x, mean, weight))"},
       {"weight", "convolution_grad_bias(grad * normalise_channels(x, mean, scale, None, None))"},
       {"bias", "convolution_grad_bias(grad)"}});
}

OPYARD_KERNELS_OF(opyard, m) {
  name_build(m);
  m.impl("normalise_rows", &normalise_rows);
  m.impl("normalise_channels", &normalise_channels);
}

}  // namespace opyard::kernels
