// kernels/neural/pool_windows.h: the boxes of an image that pooling takes together.
//
// Images have one to three dimensions behind their channels; missing ones in front have the size 1.
// Each dimension has a list of the stretches that windows take of it, cut off at the image's edges.
//
// Depends on: common/numbers.h.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "common/numbers.h"

namespace opyard::kernels {

struct PoolAxis {
  std::int64_t size = 1;  // of the image
  std::int64_t step = 1;
  std::vector<std::int64_t> begin = {0}, end = {1};
  std::vector<std::int64_t> counted = {1};  // places that an average divides by
  // Where windows are as far apart as the first two: what they take, before edges cut it off. No
  // kernel of adaptive windows.
  std::int64_t kernel = 1, stride = 1, first = 0;

  std::int64_t count() const { return std::int64_t(begin.size()); }
};

struct PoolWindows {
  std::array<PoolAxis, 3> axes;
  std::int64_t pages = 1;  // batch times channels
  DimVector sizes;         // of the result

  std::int64_t image_count() const { return axes[0].size * axes[1].size * axes[2].size; }
  std::int64_t window_count() const { return axes[0].count() * axes[1].count() * axes[2].count(); }
};

// Lists as they came: one number for all dimensions, or one for each; no stride is the kernel's.
struct PoolLists {
  const char* op;
  std::int64_t dims;
  IntSpan kernel_size, stride, padding, dilation;
  bool ceil_mode = false;
  bool count_include_pad = false;
};

// `self` is of any dtype, and has `dims` + 1 or + 2 dimensions. Raises BadShape, BadValue.
PoolWindows pool_windows(const PoolLists& lists, const Tensor& self);
// As many windows as `output_size` says, which cover the image; -1 keeps a size.
PoolWindows adaptive_windows(const char* op, std::int64_t dims, const Tensor& self,
                             IntSpan output_size);

// Calls visit(page, window, box) for each; `box` calls a function with each place in the image.
template <typename Visit>
void each_window(const PoolWindows& w, std::int64_t first_page, std::int64_t last_page,
                 const Visit& visit) {
  const auto& [d, h, x] = w.axes;
  for (std::int64_t page = first_page; page < last_page; ++page) {
    std::int64_t window = 0;
    for (std::size_t i = 0; i < d.begin.size(); ++i) {
      for (std::size_t j = 0; j < h.begin.size(); ++j) {
        for (std::size_t k = 0; k < x.begin.size(); ++k, ++window) {
          const auto box = [&](auto&& take) {
            for (std::int64_t a = d.begin[i]; a < d.end[i]; a += d.step) {
              for (std::int64_t b = h.begin[j]; b < h.end[j]; b += h.step) {
                const std::int64_t line = (a * h.size + b) * x.size;
                for (std::int64_t c = x.begin[k]; c < x.end[k]; c += x.step) take(line + c);
              }
            }
          };
          visit(page, window, d.counted[i] * h.counted[j] * x.counted[k], box);
        }
      }
    }
  }
}

}  // namespace opyard::kernels
