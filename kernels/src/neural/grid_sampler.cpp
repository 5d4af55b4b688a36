// kernels/neural/grid_sampler.cpp: images read at places that a grid names: grid_sampler for images
// and volumes.
//
// Compositions of gather, so that gradients of every order are those of the parts. Places count
// from -1 to 1 across the image, the last dimension of the image first.
#include <cmath>

#include "common/broadcast.h"
#include "common/define.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "common/options.h"

namespace opyard::kernels {
namespace {

using namespace ops;

enum class Between : std::int64_t { Linear = 0, Nearest = 1, Cubic = 2 };
enum class Outside : std::int64_t { Zeros = 0, Border = 1, Reflection = 2 };

// One dimension of the image.
struct ImageLine {
  std::int64_t size;
  Outside outside;
  bool align_corners;

  // A place between -1 and 1, in pixels.
  Tensor in_pixels(const Tensor& place) const {
    return align_corners ? (place + 1) * (double(size - 1) / 2)
                         : ((place + 1) * double(size) - Scalar(1)) / 2;
  }
  // A place in pixels, moved into the image unless what is outside is zero.
  Tensor moved_inside(const Tensor& place) const {
    if (outside == Outside::Zeros) return place;
    return clamp(outside == Outside::Reflection ? reflected(place) : place, 0, size - 1);
  }

 private:
  Tensor reflected(const Tensor& place) const {
    static constinit FoundOperator<Tensor(const Tensor&, const Scalar&)> remainder(
        "aten::remainder.Scalar");
    const double low = align_corners ? 0 : -0.5;
    const double span = align_corners ? double(size - 1) : double(size);
    if (span <= 0) return place * 0;
    const Tensor along = remainder.call(abs(place - low), 2 * span);
    return where(along > span, Scalar(2 * span) - along, along) + low;
  }
};

// What is read, and the lines of its dimensions, the first one first.
struct Image {
  Tensor flat;  // [n, c, all places]
  std::int64_t channels;
  std::vector<ImageLine> lines;

  Image(const Tensor& input, Outside outside, bool align_corners) : channels(input.size(1)) {
    for (std::int64_t i = 2; i < input.dim(); ++i) {
      lines.push_back({input.size(i), outside, align_corners});
    }
    flat = reshape(input, std::array<std::int64_t, 3>{input.size(0), channels, -1});
  }

  // The elements at whole places, a tensor for each dimension, which are zero outside.
  Tensor at(const Tensors& places) const {
    Tensor inside, number;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::int64_t last = lines[i].size - 1;
      const Tensor is_in = both(places[i] >= 0, places[i] <= last);
      const Tensor whole = clamp(to(places[i], DType::Int64), 0, last);
      inside = i == 0 ? is_in : both(inside, is_in);
      number = i == 0 ? whole : number * lines[i].size + whole;
    }
    const std::int64_t batch = number.size(0);
    DimVector result = {batch, channels};
    for (std::int64_t i = 1; i < number.dim(); ++i) result.push_back(number.size(i));
    const Tensor row = reshape(number, std::array<std::int64_t, 3>{batch, 1, -1});
    const Tensor spread = ops::expand(row, std::array{batch, channels, row.size(2)});
    return masked(reshape(gather(flat, 2, spread), result), ops::unsqueeze(negation(inside), 1), 0);
  }
};

Tensor rounded_down(const Tensor& x) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::floor");
  return op.call(detach(x));
}
Tensor rounded_places(const Tensor& x) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::round");
  return op.call(detach(x));
}

// A whole place near one that is read, and its share.
struct Tap {
  Tensor place, share;
};
std::vector<Tap> linear_taps(const ImageLine& line, const Tensor& given) {
  const Tensor place = line.moved_inside(line.in_pixels(given)), first = rounded_down(place);
  const Tensor after = place - first;
  return {{first, Scalar(1) - after}, {first + 1, after}};
}
// The share of a pixel that is at `distance`, by the cubic spline of A = -0.75.
Tensor near_share(const Tensor& distance) {
  return (distance * 1.25 - Scalar(2.25)) * distance * distance + 1;
}
Tensor far_share(const Tensor& distance) {
  return ((distance * -0.75 + 3.75) * distance - Scalar(6.0)) * distance + 3;
}
std::vector<Tap> cubic_taps(const ImageLine& line, const Tensor& given) {
  const Tensor place = line.in_pixels(given), first = rounded_down(place);
  const Tensor after = place - first, before = Scalar(1) - after;
  return {{line.moved_inside(first - 1), far_share(after + 1)},
          {line.moved_inside(first), near_share(after)},
          {line.moved_inside(first + 1), near_share(before)},
          {line.moved_inside(first + 2), far_share(before + 1)}};
}

// The sum over all taps of the dimensions from `dim` on.
Tensor sum_of_taps(const Image& image, const std::vector<std::vector<Tap>>& taps, Tensors& places,
                   std::size_t dim) {
  if (dim == taps.size()) return image.at(places);
  Tensor result;
  for (const Tap& tap : taps[dim]) {
    places[dim] = tap.place;
    const Tensor part = sum_of_taps(image, taps, places, dim + 1) * ops::unsqueeze(tap.share, 1);
    result = result.defined() ? result + part : part;
  }
  return result;
}

// In float32 or float64.
Tensor sampled(const Tensor& input, const Tensor& grid, Between between, Outside outside,
               bool align_corners) {
  const Image image(input, outside, align_corners);
  const auto dims = std::int64_t(image.lines.size());
  Tensors places;
  std::vector<std::vector<Tap>> taps;
  for (std::int64_t i = 0; i < dims; ++i) {
    const ImageLine& line = image.lines[std::size_t(i)];
    const Tensor given = ops::select(grid, -1, dims - 1 - i);
    if (between == Between::Nearest) {
      places.push_back(rounded_places(line.moved_inside(line.in_pixels(given))));
    } else {
      places.emplace_back();
      taps.push_back(between == Between::Cubic ? cubic_taps(line, given)
                                               : linear_taps(line, given));
    }
  }
  return between == Between::Nearest ? image.at(places) : sum_of_taps(image, taps, places, 0);
}

void require_grid(const char* op, const Tensor& input, const Tensor& grid, std::int64_t dims) {
  require_float_dtype(op, "input", input);
  require_one_dtype(op, "input", input, "grid", grid);
  require_dims(op, "input", input, dims + 2, dims + 2);
  bool fits = grid.dim() == input.dim() && grid.size(-1) == dims && grid.size(0) == input.size(0);
  for (std::int64_t i = 2; i < input.dim(); ++i) fits = fits && input.size(i) > 0;
  if (!fits) {
    refuse(ErrorKind::BadShape,
           {op, ": input is ", input, " and grid is ", grid, "; a grid with the batch of input, ",
            dims == 2 ? "a height, a width and two places"
                      : "a depth, a height, a width and three places",
            " is needed, and an input with elements in each of these dimensions"});
  }
}

Tensor sampled_by_numbers(const char* op, const Tensor& input, const Tensor& grid,
                          std::int64_t interpolation_mode, std::int64_t padding_mode,
                          bool align_corners, std::int64_t dims) {
  require_grid(op, input, grid, dims);
  const std::int64_t most = dims == 2 ? 2 : 1;
  if (interpolation_mode < 0 || interpolation_mode > most || padding_mode < 0 || padding_mode > 2) {
    refuse(ErrorKind::BadValue, {op, ": interpolation_mode is ", interpolation_mode,
                                 " and padding_mode is ", padding_mode, "; accepted are 0 (linear)",
                                 dims == 2 ? ", 1 (nearest) and 2 (cubic)" : " and 1 (nearest)",
                                 ", and 0 (zeros), 1 (border) and 2 (reflection)"});
  }
  return to(sampled(to(input, carrier_of(input.dtype())), to(grid, carrier_of(grid.dtype())),
                    Between(interpolation_mode), Outside(padding_mode), align_corners),
            input.dtype());
}
Tensor grid_sampler_2d(const Tensor& input, const Tensor& grid, std::int64_t interpolation_mode,
                       std::int64_t padding_mode, bool align_corners) {
  return sampled_by_numbers("aten::grid_sampler_2d", input, grid, interpolation_mode, padding_mode,
                            align_corners, 2);
}
Tensor grid_sampler_3d(const Tensor& input, const Tensor& grid, std::int64_t interpolation_mode,
                       std::int64_t padding_mode, bool align_corners) {
  return sampled_by_numbers("aten::grid_sampler_3d", input, grid, interpolation_mode, padding_mode,
                            align_corners, 3);
}
Tensor grid_sampler(const Tensor& input, const Tensor& grid, std::int64_t interpolation_mode,
                    std::int64_t padding_mode, bool align_corners) {
  using Sample = Tensor(const Tensor&, const Tensor&, std::int64_t, std::int64_t, bool);
  static constinit FoundOperator<Sample> of_images("aten::grid_sampler_2d");
  static constinit FoundOperator<Sample> of_volumes("aten::grid_sampler_3d");
  constexpr const char* kOp = "aten::grid_sampler";
  require_defined(kOp, "input", input);
  require_dims(kOp, "input", input, 4, 5);
  const bool is_image = input.dim() == 4;
  const auto& sample = is_image ? of_images : of_volumes;
  return named(kOp, is_image ? "aten::grid_sampler_2d" : "aten::grid_sampler_3d", [&] {
    return sample.call(input, grid, interpolation_mode, padding_mode, align_corners);
  });
}

}  // namespace

#define OPYARD_SAMPLED                                                                            \
  "(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> " \
  "Tensor"

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m, {"grid_sampler" OPYARD_SAMPLED, "grid_sampler_2d" OPYARD_SAMPLED,
             "grid_sampler_3d" OPYARD_SAMPLED});
  m.impl("grid_sampler", &grid_sampler);
  m.impl("grid_sampler_2d", &grid_sampler_2d);
  m.impl("grid_sampler_3d", &grid_sampler_3d);
}
#undef OPYARD_SAMPLED

}  // namespace opyard::kernels
