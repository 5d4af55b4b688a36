// kernels/neural/resample.cpp: images in another size: upsample_nearest and upsample_linear in one
// to three dimensions, and grid_sampler_2d.
//
// Compositions of index_select along one dimension after another, or of gather, so that gradients
// of every order are those of the parts.
#include <algorithm>
#include <cmath>

#include "common/define.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "common/releasing.h"

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
  return is_meta(like) ? Tensor::empty(sizes, dtype, like.device()) : list;
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

enum class Way : std::uint8_t { Nearest, NearestExact, Linear };

Tensor resampled(const char* op, Way way, const Tensor& self, IntSpan output_size,
                 const std::vector<MaybeDouble>& scales, bool align_corners) {
  require_floats(op, "self", self);
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
    result = way == Way::Linear ? resample_linear(result, dim, size, scale, align_corners)
                                : nearest(result, dim, size, scale, way == Way::Nearest ? 0 : 0.5);
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

// Places between -1 and 1 as places in a line of `size` elements.
Tensor in_pixels(const Tensor& place, std::int64_t size, std::int64_t padding_mode,
                 bool align_corners) {
  Tensor at = align_corners ? (place + 1) * (double(size - 1) / 2)
                            : ((place + 1) * double(size) - Scalar(1)) / 2;
  if (padding_mode == 2) {
    const double low = align_corners ? 0 : -0.5,
                 span = align_corners ? double(size - 1) : double(size);
    if (span <= 0) return at * 0;
    static constinit FoundOperator<Tensor(const Tensor&, const Scalar&)> remainder(
        "aten::remainder.Scalar");
    const Tensor along = remainder.call(abs(at - low), 2 * span);
    at = where(along > span, Scalar(2 * span) - along, along) + low;
  }
  return padding_mode == 0 ? at : clamp(at, 0, size - 1);
}

struct Sampler {
  Tensor flat;  // [n, c, height * width]
  std::int64_t height, width, channels;

  // The elements at whole places, which are zero outside.
  Tensor at(const Tensor& x, const Tensor& y) const {
    const Tensor inside = both(both(x >= 0, x <= width - 1), both(y >= 0, y <= height - 1));
    const Tensor place = to(clamp(y, 0, height - 1) * width + clamp(x, 0, width - 1), DType::Int64);
    const std::array row = {place.size(0), std::int64_t{1}, place.size(1) * place.size(2)};
    const std::array spread = {place.size(0), channels, place.size(1) * place.size(2)};
    const std::array sizes = {place.size(0), channels, place.size(1), place.size(2)};
    const Tensor taken = reshape(gather(flat, 2, expand(reshape(place, row), spread)), sizes);
    return masked(taken, unsqueeze(negation(inside), 1), 0);
  }
};

// In float32 or float64.
Tensor sampled(const Tensor& input, const Tensor& grid, bool nearest, std::int64_t padding_mode,
               bool align_corners) {
  const std::int64_t height = input.size(2), width = input.size(3);
  const std::array rows = {input.size(0), input.size(1), height * width};
  const Sampler from{reshape(input, rows), height, width, input.size(1)};
  const Tensor x = in_pixels(select(grid, 3, 0), width, padding_mode, align_corners);
  const Tensor y = in_pixels(select(grid, 3, 1), height, padding_mode, align_corners);
  static constinit FoundOperator<Tensor(const Tensor&)> floor("aten::floor");
  static constinit FoundOperator<Tensor(const Tensor&)> round("aten::round");
  if (nearest) return from.at(round.call(detach(x)), round.call(detach(y)));
  const Tensor left = floor.call(detach(x)), top = floor.call(detach(y));
  const Tensor right_share = unsqueeze(x - left, 1), low_share = unsqueeze(y - top, 1);
  const Tensor left_share = Scalar(1) - right_share, top_share = Scalar(1) - low_share;
  return from.at(left, top) * left_share * top_share +
         from.at(left + 1, top) * right_share * top_share +
         from.at(left, top + 1) * left_share * low_share +
         from.at(left + 1, top + 1) * right_share * low_share;
}

Tensor grid_sampler_2d(const Tensor& input, const Tensor& grid, std::int64_t interpolation_mode,
                       std::int64_t padding_mode, bool align_corners) {
  constexpr const char* kOp = "aten::grid_sampler_2d";
  require_floats(kOp, "input", input);
  require_dtype(kOp, "grid", grid, input.dtype());
  require_dims(kOp, "input", input, 4, 4);
  if (grid.dim() != 4 || grid.size(3) != 2 || grid.size(0) != input.size(0) || input.size(2) == 0 ||
      input.size(3) == 0) {
    refuse(ErrorKind::BadShape,
           {kOp, ": input is ", input, " and grid is ", grid,
            "; a grid with the batch of input, a height, a width and two places is needed"});
  }
  if (interpolation_mode < 0 || interpolation_mode > 1 || padding_mode < 0 || padding_mode > 2) {
    refuse(ErrorKind::Unsupported,
           {kOp, ": interpolation_mode is ", interpolation_mode, " and padding_mode is ",
            padding_mode, "; accepted are 0 (bilinear) and 1 (nearest), and 0 to 2"});
  }
  return to(sampled(to(input, carrier_of(input.dtype())), to(grid, carrier_of(grid.dtype())),
                    interpolation_mode == 1, padding_mode, align_corners),
            input.dtype());
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m, {"upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor",
             "upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? "
             "scales_w=None) -> Tensor",
             "upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? "
             "scales_h=None, float? scales_w=None) -> Tensor",
             "upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? "
             "scales=None) -> Tensor",
             "upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? "
             "scales_h=None, float? scales_w=None) -> Tensor",
             "upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? "
             "scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
             "grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
             "bool align_corners) -> Tensor"});
  m.impl("upsample_nearest1d", &nearest1d);
  m.impl("upsample_nearest2d", &nearest2d);
  m.impl("upsample_nearest3d", &nearest3d);
  m.impl("upsample_linear1d", &linear1d);
  m.impl("upsample_bilinear2d", &bilinear2d);
  m.impl("upsample_trilinear3d", &trilinear3d);
  m.impl("grid_sampler_2d", &grid_sampler_2d);
  for (const char* name : {"upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"}) {
    define(m,
           std::string(name) +
               ".vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
           Tagged::Overlapping);
  }
  for (const char* name : {"upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d"}) {
    define(m,
           std::string(name) +
               ".vec(Tensor input, SymInt[]? output_size, bool align_corners, "
               "float[]? scale_factors) -> Tensor",
           Tagged::Overlapping);
  }
  m.impl("upsample_nearest1d.vec", &nearest_vec<1>);
  m.impl("upsample_nearest2d.vec", &nearest_vec<2>);
  m.impl("upsample_nearest3d.vec", &nearest_vec<3>);
  m.impl("upsample_linear1d.vec", &linear_vec<1>);
  m.impl("upsample_bilinear2d.vec", &linear_vec<2>);
  m.impl("upsample_trilinear3d.vec", &linear_vec<3>);
}

}  // namespace opyard::kernels
