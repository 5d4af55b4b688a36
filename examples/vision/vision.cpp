// vision.cpp: two operators of object detection, for everybody's arrays.
//
//   vision::nms(Tensor boxes, Tensor scores, float iou_threshold) -> Tensor
//     Boxes are [n, 4] as x1, y1, x2, y2. From the best score down, a box is kept unless it overlaps a kept
//     one by more than the threshold: area of the intersection over area of the union. The result is int64,
//     the kept boxes' indices.
//
//   vision::roi_align(Tensor images, Tensor boxes, float scale, int height, int width, int samples=2) -> Tensor
//     Images are [n, channels, h, w], boxes [k, 5]: which image, then x1, y1, x2, y2 in coordinates that
//     `scale` multiplies. Each box is cut into height x width cells; a cell's value is the mean of
//     samples x samples points in it, each interpolated between the four elements around it. Element (i, j)
//     is the value at x = j + 0.5, y = i + 0.5; a point more than an element outside counts as 0.
//
// Depends on: opyard/kernel.h.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "opyard/kernel.h"

namespace {

using opyard::accessor;
using opyard::DType;
using opyard::Tensor;

template <typename T>
T overlap(opyard::Accessor<const T, 1> a, opyard::Accessor<const T, 1> b) {
  const T width = std::max(T(0), std::min(a(2), b(2)) - std::max(a(0), b(0)));
  const T height = std::max(T(0), std::min(a(3), b(3)) - std::max(a(1), b(1)));
  const T both = width * height;
  const T all = (a(2) - a(0)) * (a(3) - a(1)) + (b(2) - b(0)) * (b(3) - b(1)) - both;
  return all > 0 ? both / all : T(0);
}

template <typename T>
std::vector<std::int64_t> find_kept(const Tensor& boxes, const Tensor& scores, double threshold) {
  const auto box = accessor<const T, 2>(boxes);
  const auto score = accessor<const T, 1>(scores);
  std::vector<std::int64_t> order(std::size_t(score.size(0)));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return score(a) > score(b); });
  std::vector<std::int64_t> kept;
  for (const std::int64_t next : order) {
    const auto hides = [&](std::int64_t i) { return overlap(box[i], box[next]) > T(threshold); };
    if (std::none_of(kept.begin(), kept.end(), hides)) kept.push_back(next);
  }
  return kept;
}

Tensor nms(const Tensor& boxes, const Tensor& scores, double iou_threshold) {
  OPYARD_REQUIRE(boxes.dim() == 2 && boxes.size(1) == 4, BadShape, "vision::nms: boxes are ", boxes,
                 "; [n, 4] are needed");
  OPYARD_REQUIRE(scores.dim() == 1 && scores.size(0) == boxes.size(0), BadShape,
                 "vision::nms: scores are ", scores, "; one for each of ", boxes.size(0),
                 " boxes is needed");
  OPYARD_REQUIRE(scores.dtype() == boxes.dtype(), BadArgument, "vision::nms: scores are ", scores,
                 "; the dtype of the boxes is needed, ", boxes.dtype());
  const auto kept = opyard::dispatch_dtypes<float, double>(
      boxes.dtype(), "vision::nms",
      [&]<typename T>() { return find_kept<T>(boxes, scores, iou_threshold); });
  const Tensor result = Tensor::empty(std::array{std::int64_t(kept.size())}, DType::Int64);
  std::copy(kept.begin(), kept.end(), result.mutable_data<std::int64_t>());
  return result;
}

// The value at a point, between the four elements around it; y and x count elements' centres from
// 0.
template <typename T>
T interpolate(opyard::Accessor<const T, 2> plane, T y, T x) {
  const std::int64_t height = plane.size(0), width = plane.size(1);
  if (!(y >= -1 && y <= T(height) && x >= -1 && x <= T(width))) return 0;
  y = std::clamp(y, T(0), T(height - 1));
  x = std::clamp(x, T(0), T(width - 1));
  const auto top = std::int64_t(y), left = std::int64_t(x);
  const std::int64_t bottom = std::min(top + 1, height - 1), right = std::min(left + 1, width - 1);
  const T down = y - T(top), across = x - T(left);
  return (plane(top, left) * (1 - across) + plane(top, right) * across) * (1 - down) +
         (plane(bottom, left) * (1 - across) + plane(bottom, right) * across) * down;
}

template <typename T>
void align(const Tensor& images, const Tensor& boxes, T scale, std::int64_t samples,
           const Tensor& result) {
  const auto image = accessor<const T, 4>(images);
  const auto box = accessor<const T, 2>(boxes);
  const auto out = accessor<T, 4>(result);
  if (out.size(1) == 0 || out.size(2) == 0 || out.size(3) == 0) return;
  for (std::int64_t k = 0; k < box.size(0); ++k) {
    const T which = box(k, 0);
    OPYARD_REQUIRE(which >= 0 && which < T(image.size(0)), BadIndex, "vision::roi_align: box ", k,
                   " is of image ", double(which), ", and there are ", image.size(0));
    const T x0 = box(k, 1) * scale - T(0.5), y0 = box(k, 2) * scale - T(0.5);
    const T cell_x = (box(k, 3) - box(k, 1)) * scale / T(out.size(3));
    const T cell_y = (box(k, 4) - box(k, 2)) * scale / T(out.size(2));
    for (std::int64_t c = 0; c < out.size(1); ++c) {
      const auto plane = image[std::int64_t(which)][c];
      for (std::int64_t i = 0; i < out.size(2); ++i) {
        for (std::int64_t j = 0; j < out.size(3); ++j) {
          T sum = 0;
          for (std::int64_t s = 0; s < samples * samples; ++s) {
            const T y = y0 + cell_y * (T(i) + (T(s / samples) + T(0.5)) / T(samples));
            const T x = x0 + cell_x * (T(j) + (T(s % samples) + T(0.5)) / T(samples));
            sum += interpolate(plane, y, x);
          }
          out(k, c, i, j) = sum / T(samples * samples);
        }
      }
    }
  }
}

Tensor roi_align(const Tensor& images, const Tensor& boxes, double scale, std::int64_t height,
                 std::int64_t width, std::int64_t samples) {
  OPYARD_REQUIRE(images.dim() == 4, BadShape, "vision::roi_align: images are ", images,
                 "; [n, channels, h, w] are needed");
  OPYARD_REQUIRE(boxes.dim() == 2 && boxes.size(1) == 5, BadShape, "vision::roi_align: boxes are ",
                 boxes, "; [k, 5] are needed, the first of each the number of its image");
  OPYARD_REQUIRE(boxes.dtype() == images.dtype(), BadArgument, "vision::roi_align: boxes are ",
                 boxes, "; the dtype of the images is needed, ", images.dtype());
  OPYARD_REQUIRE(height > 0 && width > 0 && samples > 0, BadValue, "vision::roi_align: height is ",
                 height, ", width is ", width, " and samples is ", samples,
                 "; each must be 1 or more");
  const Tensor result = Tensor::empty(std::array{boxes.size(0), images.size(1), height, width},
                                      images.dtype(), images.device());
  if (opyard::is_meta(images)) return result;
  opyard::dispatch_dtypes<float, double>(images.dtype(), "vision::roi_align", [&]<typename T>() {
    align<T>(images, boxes, T(scale), samples, result);
  });
  return result;
}

OPYARD_LIBRARY(vision, m) {
  m.def("nms(Tensor boxes, Tensor scores, float iou_threshold) -> Tensor");
  m.def(
      "roi_align(Tensor images, Tensor boxes, float scale, int height, int width, int samples=2) "
      "-> Tensor");
  m.impl("nms", opyard::DispatchKey::CPU, opyard::cpu_only(&nms));
  m.impl("roi_align", opyard::DispatchKey::CPU, &roi_align);
}

}  // namespace
