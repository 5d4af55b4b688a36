// kernels/neural/resample.cpp: images in another size: upsample_nearest, _upsample_nearest_exact and
// upsample_linear in one to three dimensions, upsample_bicubic2d.
//
// Compositions of index_select along one dimension after another, so that gradients of every order
// are those of the parts.
#include <algorithm>
#include <cmath>

#include "common/define.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "common/releasing.h"
#include "geometry/symbolic_calls.h"

namespace opyard::kernels {
namespace {

using namespace ops;
using Scales = std::optional<std::vector<double>>;
using MaybeDouble = std::optional<double>;

// How many elements of the source one of the result is apart from the next.
double step_of(std::int64_t in, std::int64_t out, MaybeDouble scale, bool align_corners) {
  if (align_corners) return out > 1 ? double(in - 1) / double(out - 1) : 0;
  return scale && *scale > 0 ? 1 / *scale : double(in) / double(out);
}

// A tensor of the numbers of(i), in int64 or a float.
template <typename T, typename Of>
Tensor listed(const Tensor& like, std::int64_t count, DType dtype, const Of& of) {
  const std::array sizes = {count};
  const Tensor list = Tensor::empty(sizes, dtype);
  T* const out = elements_of<T>(list);
  without_gil_for(count, [&] {
    for (std::int64_t i = 0; i < count; ++i) out[i] = T(of(i));
  });
  return to_device_of(like, list);
}

Tensor nearest(const Tensor& self, std::int64_t dim, std::int64_t out, MaybeDouble scale,
               double shift) {
  const std::int64_t in = self.size(dim);
  const auto step = float(step_of(in, out, scale, false));
  return index_select(self, dim, listed<std::int64_t>(self, out, DType::Int64, [&](std::int64_t i) {
                        const auto place =
                            std::int64_t(std::floor((float(i) + float(shift)) * step));
                        return std::min(place, in - 1);
                      }));
}

Tensor resample_linear(const Tensor& self, std::int64_t dim, std::int64_t out, MaybeDouble scale,
                       bool align_corners) {
  const std::int64_t in = self.size(dim);
  const double step = step_of(in, out, scale, align_corners);
  const auto place = [&](std::int64_t i) {
    const double at = align_corners ? step * double(i) : step * (double(i) + 0.5) - 0.5;
    return std::max(at, 0.0);
  };
  const auto first = [&](std::int64_t i) { return std::min(std::int64_t(place(i)), in - 1); };
  const auto weight = [&](std::int64_t i) { return std::min(place(i) - double(first(i)), 1.0); };
  const Tensor low = listed<std::int64_t>(self, out, DType::Int64, first);
  const Tensor high = listed<std::int64_t>(
      self, out, DType::Int64, [&](std::int64_t i) { return std::min(first(i) + 1, in - 1); });
  DimVector sizes(std::size_t(self.dim()), 1);
  sizes[std::size_t(dim)] = out;
  const Tensor upper =
      reshape(to(listed<double>(self, out, DType::Float64, weight), self.dtype()), sizes);
  return index_select(self, dim, low) * (Scalar(1) - upper) + index_select(self, dim, high) * upper;
}

// By four neighbours, those beyond an edge being the one on it. Their weights are Keys' cubics,
// whose slope at the first neighbour is -0.75.
double cubic_weight(double far) {
  constexpr double kSlope = -0.75;
  if (far <= 1) return ((kSlope + 2) * far - (kSlope + 3)) * far * far + 1;
  return ((kSlope * far - 5 * kSlope) * far + 8 * kSlope) * far - 4 * kSlope;
}
Tensor resample_cubic(const Tensor& self, std::int64_t dim, std::int64_t out, MaybeDouble scale,
                      bool align_corners) {
  const std::int64_t in = self.size(dim);
  const double step = step_of(in, out, scale, align_corners);
  const auto place = [&](std::int64_t i) {
    return align_corners ? step * double(i) : step * (double(i) + 0.5) - 0.5;
  };
  DimVector sizes(std::size_t(self.dim()), 1);
  sizes[std::size_t(dim)] = out;
  Tensor result;
  for (std::int64_t tap = -1; tap <= 2; ++tap) {
    const Tensor at = listed<std::int64_t>(self, out, DType::Int64, [&](std::int64_t i) {
      return std::clamp<std::int64_t>(std::int64_t(std::floor(place(i))) + tap, 0, in - 1);
    });
    const Tensor weights = listed<double>(self, out, DType::Float64, [&](std::int64_t i) {
      const double within = place(i) - std::floor(place(i));
      return cubic_weight(std::abs(within - double(tap)));
    });
    const Tensor part = index_select(self, dim, at) * reshape(to(weights, self.dtype()), sizes);
    result = tap == -1 ? part : result + part;
  }
  return result;
}

enum class Way : std::uint8_t { Nearest, NearestExact, Linear, Cubic };

Tensor resampled_along(const Tensor& self, Way way, std::int64_t dim, std::int64_t size,
                       MaybeDouble scale, bool align_corners) {
  switch (way) {
    case Way::Linear:
      return resample_linear(self, dim, size, scale, align_corners);
    case Way::Cubic:
      return resample_cubic(self, dim, size, scale, align_corners);
    case Way::NearestExact:
      return nearest(self, dim, size, scale, 0.5);
    default:
      return nearest(self, dim, size, scale, 0);
  }
}

Tensor resampled(const char* op, Way way, const Tensor& self, IntSpan output_size,
                 const std::vector<MaybeDouble>& scales, bool align_corners) {
  require_float_dtype(op, "self", self);
  const auto dims = std::int64_t(scales.size());
  require_dims(op, "self", self, dims + 2, dims + 2);
  bool fits = std::int64_t(output_size.size()) == dims;
  for (const std::int64_t size : output_size) fits = fits && size > 0;
  for (std::int64_t i = 2; i < self.dim(); ++i) fits = fits && self.size(i) > 0;
  if (!fits) {
    refuse(ErrorKind::BadShape, {op, ": self is ", self, " and output_size is ", output_size, "; ",
                                 dims, " sizes of 1 and more are needed"});
  }
  Tensor result = to(self, carrier_of(self.dtype()));
  for (std::int64_t i = 0; i < dims; ++i) {
    const std::int64_t size = output_size[std::size_t(i)], dim = i + 2;
    const MaybeDouble scale = scales[std::size_t(i)];
    if (size == self.size(dim) && (!scale || *scale == 1)) continue;
    result = resampled_along(result, way, dim, size, scale, align_corners);
  }
  return result.same(self) ? clone(self) : to(result, self.dtype());
}

// The forms with lists: either sizes or factors.
Tensor by_lists(const char* op, Way way, const Tensor& input, std::optional<IntSpan> output_size,
                std::size_t dims, bool align_corners, const Scales& factors) {
  require_defined(op, "input", input);
  require_dims(op, "input", input, std::int64_t(dims) + 2, std::int64_t(dims) + 2);
  if (output_size.has_value() == factors.has_value() || (factors && factors->size() != dims)) {
    refuse(ErrorKind::BadArgument,
           {op, ": give either output_size or ", std::int64_t(dims), " scale_factors"});
  }
  std::vector<MaybeDouble> scales(dims);
  DimVector sizes(output_size.value_or(IntSpan()));
  for (std::size_t i = 0; factors && i < dims; ++i) {
    scales[i] = (*factors)[i];
    sizes.push_back(std::int64_t(double(input.sizes()[i + 2]) * *scales[i]));
  }
  return resampled(op, way, input, sizes, scales, align_corners);
}

Tensor nearest1d(const Tensor& self, IntSpan size, MaybeDouble scales) {
  return resampled("aten::upsample_nearest1d", Way::Nearest, self, size, {scales}, false);
}
Tensor nearest2d(const Tensor& self, IntSpan size, MaybeDouble h, MaybeDouble w) {
  return resampled("aten::upsample_nearest2d", Way::Nearest, self, size, {h, w}, false);
}
Tensor nearest3d(const Tensor& self, IntSpan size, MaybeDouble d, MaybeDouble h, MaybeDouble w) {
  return resampled("aten::upsample_nearest3d", Way::Nearest, self, size, {d, h, w}, false);
}
Tensor linear1d(const Tensor& self, IntSpan size, bool align_corners, MaybeDouble scales) {
  return resampled("aten::upsample_linear1d", Way::Linear, self, size, {scales}, align_corners);
}
Tensor bilinear2d(const Tensor& self, IntSpan size, bool align_corners, MaybeDouble h,
                  MaybeDouble w) {
  return resampled("aten::upsample_bilinear2d", Way::Linear, self, size, {h, w}, align_corners);
}
Tensor trilinear3d(const Tensor& self, IntSpan size, bool align_corners, MaybeDouble d,
                   MaybeDouble h, MaybeDouble w) {
  return resampled("aten::upsample_trilinear3d", Way::Linear, self, size, {d, h, w}, align_corners);
}
Tensor bicubic2d(const Tensor& self, IntSpan size, bool align_corners, MaybeDouble h,
                 MaybeDouble w) {
  return resampled("aten::upsample_bicubic2d", Way::Cubic, self, size, {h, w}, align_corners);
}
Tensor bicubic2d_vec(const Tensor& input, std::optional<IntSpan> output_size, bool align_corners,
                     const Scales& factors) {
  return by_lists("aten::upsample_bicubic2d.vec", Way::Cubic, input, output_size, 2, align_corners,
                  factors);
}
Tensor exact1d(const Tensor& self, IntSpan size, MaybeDouble scales) {
  constexpr const char* kOp = "aten::_upsample_nearest_exact1d";
  return resampled(kOp, Way::NearestExact, self, size, {scales}, false);
}
Tensor exact2d(const Tensor& self, IntSpan size, MaybeDouble h, MaybeDouble w) {
  constexpr const char* kOp = "aten::_upsample_nearest_exact2d";
  return resampled(kOp, Way::NearestExact, self, size, {h, w}, false);
}
Tensor exact3d(const Tensor& self, IntSpan size, MaybeDouble d, MaybeDouble h, MaybeDouble w) {
  constexpr const char* kOp = "aten::_upsample_nearest_exact3d";
  return resampled(kOp, Way::NearestExact, self, size, {d, h, w}, false);
}
template <int dims>
Tensor exact_vec(const Tensor& input, std::optional<IntSpan> output_size, const Scales& factors) {
  constexpr const char* kOp = dims == 1   ? "aten::_upsample_nearest_exact1d.vec"
                              : dims == 2 ? "aten::_upsample_nearest_exact2d.vec"
                                          : "aten::_upsample_nearest_exact3d.vec";
  return by_lists(kOp, Way::NearestExact, input, output_size, dims, false, factors);
}
template <int dims>
Tensor nearest_vec(const Tensor& input, std::optional<IntSpan> output_size, const Scales& factors) {
  constexpr const char* kOp = dims == 1   ? "aten::upsample_nearest1d.vec"
                              : dims == 2 ? "aten::upsample_nearest2d.vec"
                                          : "aten::upsample_nearest3d.vec";
  return by_lists(kOp, Way::Nearest, input, output_size, dims, false, factors);
}
template <int dims>
Tensor linear_vec(const Tensor& input, std::optional<IntSpan> output_size, bool align_corners,
                  const Scales& factors) {
  constexpr const char* kOp = dims == 1   ? "aten::upsample_linear1d.vec"
                              : dims == 2 ? "aten::upsample_bilinear2d.vec"
                                          : "aten::upsample_trilinear3d.vec";
  return by_lists(kOp, Way::Linear, input, output_size, dims, align_corners, factors);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m, {"upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor",
             "upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? "
             "scales_w=None) -> Tensor",
             "upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? "
             "scales_h=None, float? scales_w=None) -> Tensor",
             "_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? scales=None) -> "
             "Tensor",
             "_upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, float? scales_h=None, "
             "float? scales_w=None) -> Tensor",
             "_upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, float? scales_d=None, "
             "float? scales_h=None, float? scales_w=None) -> Tensor",
             "upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? "
             "scales=None) -> Tensor",
             "upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? "
             "scales_h=None, float? scales_w=None) -> Tensor",
             "upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? "
             "scales_h=None, float? scales_w=None) -> Tensor",
             "upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? "
             "scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor"});
  m.impl("upsample_nearest1d", Kernel::with_symbolic<&nearest1d, &symbolic_output_size>());
  m.impl("upsample_nearest2d", Kernel::with_symbolic<&nearest2d, &symbolic_output_size>());
  m.impl("upsample_nearest3d", Kernel::with_symbolic<&nearest3d, &symbolic_output_size>());
  m.impl("_upsample_nearest_exact1d", Kernel::with_symbolic<&exact1d, &symbolic_output_size>());
  m.impl("_upsample_nearest_exact2d", Kernel::with_symbolic<&exact2d, &symbolic_output_size>());
  m.impl("_upsample_nearest_exact3d", Kernel::with_symbolic<&exact3d, &symbolic_output_size>());
  m.impl("upsample_bicubic2d", Kernel::with_symbolic<&bicubic2d, &symbolic_output_size>());
  m.impl("upsample_linear1d", Kernel::with_symbolic<&linear1d, &symbolic_output_size>());
  m.impl("upsample_bilinear2d", Kernel::with_symbolic<&bilinear2d, &symbolic_output_size>());
  m.impl("upsample_trilinear3d", Kernel::with_symbolic<&trilinear3d, &symbolic_output_size>());
  for (const char* name :
       {"upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d",
        "_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d"}) {
    define(m,
           std::string(name) +
               ".vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
           Tagged::Overlapping);
  }
  for (const char* name :
       {"upsample_linear1d", "upsample_bilinear2d", "upsample_bicubic2d", "upsample_trilinear3d"}) {
    define(m,
           std::string(name) +
               ".vec(Tensor input, SymInt[]? output_size, bool align_corners, "
               "float[]? scale_factors) -> Tensor",
           Tagged::Overlapping);
  }
  m.impl("upsample_nearest1d.vec", Kernel::with_symbolic<&nearest_vec<1>, &symbolic_output_size>());
  m.impl("upsample_nearest2d.vec", Kernel::with_symbolic<&nearest_vec<2>, &symbolic_output_size>());
  m.impl("upsample_nearest3d.vec", Kernel::with_symbolic<&nearest_vec<3>, &symbolic_output_size>());
  m.impl("_upsample_nearest_exact1d.vec",
         Kernel::with_symbolic<&exact_vec<1>, &symbolic_output_size>());
  m.impl("_upsample_nearest_exact2d.vec",
         Kernel::with_symbolic<&exact_vec<2>, &symbolic_output_size>());
  m.impl("_upsample_nearest_exact3d.vec",
         Kernel::with_symbolic<&exact_vec<3>, &symbolic_output_size>());
  m.impl("upsample_bicubic2d.vec", Kernel::with_symbolic<&bicubic2d_vec, &symbolic_output_size>());
  m.impl("upsample_linear1d.vec", Kernel::with_symbolic<&linear_vec<1>, &symbolic_output_size>());
  m.impl("upsample_bilinear2d.vec", Kernel::with_symbolic<&linear_vec<2>, &symbolic_output_size>());
  m.impl("upsample_trilinear3d.vec",
         Kernel::with_symbolic<&linear_vec<3>, &symbolic_output_size>());
}

}  // namespace opyard::kernels
