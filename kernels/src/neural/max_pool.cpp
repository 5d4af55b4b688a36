// kernels/neural/max_pool.cpp: max pooling: the largest element of each window and its place.
//
// NaN counts as the largest. Gradients go to the places, by scatter_add, and theirs come from
// there.
#include <opyard/interpreter/gil.h>
#include <opyard/parallel.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "common/broadcast.h"
#include "common/builds.h"
#include "common/copy.h"
#include "common/define.h"
#include "common/kernels_block.h"
#include "common/ops.h"
#include "common/options.h"
#include "common/releasing.h"
#include "neural/pool_windows.h"

namespace opyard::kernels {
namespace {

template <typename T>
bool is_larger(T value, T than) {
  if constexpr (std::is_floating_point_v<T>) {
    return value > than || std::isnan(value);
  } else {
    return value > than;
  }
}

// Windows whose elements are found row by row: loops/pooling.cpp.
template <typename T>
struct RowsOfWindows {
  const PoolWindows& windows;
  const T* in;
  T* out;
  std::int64_t* at;

  static bool takes(const PoolWindows& w) {
    const auto has_empty = [](const PoolAxis& axis) {
      return !std::ranges::equal(axis.begin, axis.end, std::less<>());
    };
    return w.axes[2].kernel > 0 && w.image_count() <= std::numeric_limits<PlaceOf<T>>::max() &&
           std::ranges::none_of(w.axes, has_empty);
  }
  static PoolRowLoop<T> loop() {
    if constexpr (std::is_same_v<T, float>)
      return loops().pooling.largest_float32;
    else if constexpr (std::is_same_v<T, double>)
      return loops().pooling.largest_float64;
    else
      return loops().pooling.largest_int64;
  }

  void run(std::int64_t first_page, std::int64_t last_page) const {
    const auto& [d, h, x] = windows.axes;
    std::vector<PlaceOf<T>> places(std::size_t(x.count()));
    std::int64_t to = first_page * windows.window_count();
    for (std::int64_t page = first_page; page < last_page; ++page) {
      for (std::size_t i = 0; i < d.begin.size(); ++i) {
        for (std::size_t j = 0; j < h.begin.size(); ++j, to += x.count()) {
          line(in + page * windows.image_count(), i, j, out + to, places);
          std::ranges::copy(places, at + to);
        }
      }
    }
  }
  void line(const T* image, std::size_t i, std::size_t j, T* largest,
            std::vector<PlaceOf<T>>& places) const {
    using Limits = std::numeric_limits<T>;
    const auto& [d, h, x] = windows.axes;
    const std::int64_t above = (d.begin[i] * h.size + h.begin[j]) * x.size;
    std::fill_n(largest, x.count(), Limits::has_infinity ? -Limits::infinity() : Limits::min());
    for (std::size_t k = 0; k < places.size(); ++k) places[k] = PlaceOf<T>(above + x.begin[k]);
    const PoolRowLoop<T> take = loop();
    for (std::int64_t a = d.begin[i]; a < d.end[i]; a += d.step) {
      for (std::int64_t b = h.begin[j]; b < h.end[j]; b += h.step) {
        const std::int64_t place = (a * h.size + b) * x.size;
        take({image + place, x.size, place, x.kernel, x.step, x.stride, x.first, x.count(), largest,
              places.data()});
      }
    }
  }
};

TwoTensors largest_of_windows(const char* op, const PoolWindows& windows, const Tensor& self) {
  require_numbers(op, "self", self);
  Tensor places = empty_beside(self, windows.sizes, DType::Int64);
  if (is_meta(self) || places.numel() == 0) {
    return {empty_beside(self, windows.sizes, self.dtype()), places};
  }
  const Tensor from = row_major(op, in_carrier(op, self));
  const Tensor values = Tensor::empty(windows.sizes, from.dtype());
  visit_numbers(from, [&](auto sample) {
    using T = decltype(sample);
    const T* const in = elements_of<const T>(from);
    T* const out = elements_of<T>(values);
    auto* const at = elements_of<std::int64_t>(places);
    const std::int64_t one = windows.image_count() + windows.window_count();
    const std::int64_t grain = std::max<std::int64_t>(kElementsOfAThread / 4 / one, 1);
    const bool by_rows = RowsOfWindows<T>::takes(windows);
    without_gil_for(windows.pages * one, [&] {
      parallel_for(0, windows.pages, grain, [&](std::int64_t first, std::int64_t last) {
        if (by_rows) return RowsOfWindows<T>{windows, in, out, at}.run(first, last);
        each_window(windows, first, last,
                    [&](std::int64_t page, std::int64_t window, std::int64_t, const auto& box) {
                      const T* const image = in + page * windows.image_count();
                      std::int64_t found = -1;
                      T best = T();
                      box([&](std::int64_t place) {
                        if (found >= 0 && !is_larger(image[place], best)) return;
                        found = place;
                        best = image[place];
                      });
                      const std::int64_t to = page * windows.window_count() + window;
                      out[to] = best;
                      at[to] = found;
                    });
      });
    });
  });
  return {converted(op, values, self.dtype()), places};
}

template <int dims>
constexpr const char* kMaxPoolName =
    dims == 2 ? "aten::max_pool2d_with_indices" : "aten::max_pool3d_with_indices";

template <int dims>
TwoTensors max_pool(const Tensor& self, IntSpan kernel_size, IntSpan stride, IntSpan padding,
                    IntSpan dilation, bool ceil_mode) {
  const PoolLists lists{kMaxPoolName<dims>, dims,     kernel_size, stride, padding,
                        dilation,           ceil_mode};
  return largest_of_windows(kMaxPoolName<dims>, pool_windows(lists, self), self);
}
TwoTensors adaptive_max2d(const Tensor& self, IntSpan output_size) {
  constexpr const char* kOp = "aten::adaptive_max_pool2d";
  return largest_of_windows(kOp, adaptive_windows(kOp, 2, self, output_size), self);
}
TwoTensors adaptive_max3d(const Tensor& self, IntSpan output_size) {
  constexpr const char* kOp = "aten::adaptive_max_pool3d";
  return largest_of_windows(kOp, adaptive_windows(kOp, 3, self, output_size), self);
}

// The dimensions of images as one.
Tensor flat(const Tensor& x, std::int64_t dims) {
  DimVector sizes(x.sizes().first(x.sizes().size() - std::size_t(dims)));
  sizes.push_back(count_elements(x.sizes().last(std::size_t(dims))));
  return ops::reshape(x, sizes);
}
Tensor max_pool_scatter(const Tensor& grad, const Tensor& indices, IntSpan sizes,
                        std::int64_t dims) {
  const std::int64_t least = std::min({grad.dim(), indices.dim(), std::int64_t(sizes.size())});
  if (dims < 1 || dims > least) {
    refuse(
        ErrorKind::BadShape,
        {"opyard::max_pool_scatter: grad is ", grad, ", indices is ", indices, " and sizes is ",
         sizes, "; as many dimensions as dims, which is ", dims, ", and one at least are needed"});
  }
  const Tensor image = flat(ops::zeros(grad, sizes), dims);
  return ops::reshape(ops::scatter_add(image, -1, flat(indices, dims), flat(grad, dims)), sizes);
}
// The indices say all that the windows would; these are looked at as the forward looks at them.
template <int dims>
Tensor max_pool_backward(const Tensor& grad_output, const Tensor& self, IntSpan kernel_size,
                         IntSpan stride, IntSpan padding, IntSpan dilation, bool ceil_mode,
                         const Tensor& indices) {
  constexpr const char* kOp = dims == 2 ? "aten::max_pool2d_with_indices_backward"
                                        : "aten::max_pool3d_with_indices_backward";
  const PoolLists lists{kOp, dims, kernel_size, stride, padding, dilation, ceil_mode};
  const PoolWindows windows = pool_windows(lists, self);
  if (!std::ranges::equal(grad_output.sizes(), windows.sizes)) {
    refuse(ErrorKind::BadShape, {kOp, ": grad_output is ", grad_output, "; the windows of self, ",
                                 self, ", need the sizes ", IntSpan(windows.sizes)});
  }
  return max_pool_scatter(grad_output, indices, self.sizes(), dims);
}

using Pool = TwoTensors(const Tensor&, IntSpan, IntSpan, IntSpan, IntSpan, bool);
Tensor max_pool2d(const Tensor& self, IntSpan kernel_size, IntSpan stride, IntSpan padding,
                  IntSpan dilation, bool ceil_mode) {
  static constinit FoundOperator<Pool> op(kMaxPoolName<2>);
  return std::get<0>(named("aten::max_pool2d", kMaxPoolName<2>, [&] {
    return op.call(self, kernel_size, stride, padding, dilation, ceil_mode);
  }));
}
Tensor max_pool3d(const Tensor& self, IntSpan kernel_size, IntSpan stride, IntSpan padding,
                  IntSpan dilation, bool ceil_mode) {
  static constinit FoundOperator<Pool> op(kMaxPoolName<3>);
  return std::get<0>(named("aten::max_pool3d", kMaxPoolName<3>, [&] {
    return op.call(self, kernel_size, stride, padding, dilation, ceil_mode);
  }));
}
TwoTensors max_pool1d_with_indices(const Tensor& self, IntSpan kernel_size, IntSpan stride,
                                   IntSpan padding, IntSpan dilation, bool ceil_mode) {
  static constinit FoundOperator<Pool> op("aten::max_pool2d_with_indices");
  constexpr const char* kOp = "aten::max_pool1d_with_indices";
  require_defined(kOp, "self", self);
  require_dims(kOp, "self", self, 2, 3);
  const IntSpan steps = stride.empty() ? kernel_size : stride;
  if (kernel_size.size() != 1 || steps.size() != 1 || padding.size() != 1 || dilation.size() != 1) {
    refuse(ErrorKind::BadValue,
           {kOp, ": one number is needed for kernel_size, stride, padding and dilation"});
  }
  const std::array kernel = {std::int64_t{1}, kernel_size[0]}, step = {std::int64_t{1}, steps[0]};
  const std::array pad = {std::int64_t{0}, padding[0]}, by = {std::int64_t{1}, dilation[0]};
  const TwoTensors both = op.call(ops::unsqueeze(self, -2), kernel, step, pad, by, ceil_mode);
  return {ops::squeeze(std::get<0>(both), -2), ops::squeeze(std::get<1>(both), -2)};
}
Tensor max_pool1d(const Tensor& self, IntSpan kernel_size, IntSpan stride, IntSpan padding,
                  IntSpan dilation, bool ceil_mode) {
  return std::get<0>(named("aten::max_pool1d", "aten::max_pool1d_with_indices", [&] {
    return max_pool1d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode);
  }));
}
TwoTensors adaptive_max_pool1d(const Tensor& self, IntSpan output_size) {
  using Adaptive = TwoTensors(const Tensor&, IntSpan);
  static constinit FoundOperator<Adaptive> op("aten::adaptive_max_pool2d");
  require_defined("aten::adaptive_max_pool1d", "self", self);
  require_dims("aten::adaptive_max_pool1d", "self", self, 2, 3);
  if (output_size.size() != 1) {
    refuse(ErrorKind::BadValue,
           {"aten::adaptive_max_pool1d: output_size is ", output_size, "; one size is needed"});
  }
  const TwoTensors both =
      op.call(ops::unsqueeze(self, -2), std::array{std::int64_t{1}, output_size[0]});
  return {ops::squeeze(std::get<0>(both), -2), ops::squeeze(std::get<1>(both), -2)};
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
#define POOLING(n)                                                                               \
  define(m,                                                                                      \
         {"max_pool" #n "d(Tensor self, int[" #n "] kernel_size, int[" #n "] stride=[], int[" #n \
          "] padding=0, int[" #n "] dilation=1, bool ceil_mode=False) -> Tensor",                \
          "max_pool" #n "d_with_indices(Tensor self, int[" #n "] kernel_size, int[" #n           \
          "] stride=[], int[" #n "] padding=0, int[" #n                                          \
          "] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)"});                           \
  m.impl("max_pool" #n "d", &max_pool##n##d);
#define BACKWARD(n)                                                                               \
  define(m,                                                                                       \
         {"max_pool" #n "d_with_indices_backward(Tensor grad_output, Tensor self, int[" #n        \
          "] kernel_size, int[" #n "] stride, int[" #n "] padding, int[" #n                       \
          "] dilation, bool ceil_mode, Tensor indices) -> Tensor",                                \
          "adaptive_max_pool" #n "d(Tensor self, int[" #n "] output_size) -> (Tensor, Tensor)"}); \
  m.impl("max_pool" #n "d_with_indices_backward", &max_pool_backward<n>);                         \
  m.derivative("max_pool" #n "d_with_indices",                                                    \
               {{"self", "max_pool_scatter(grad0, result1, sizes(self), " #n ")"}});              \
  m.derivative("adaptive_max_pool" #n "d",                                                        \
               {{"self", "max_pool_scatter(grad0, result1, sizes(self), " #n ")"}});
  POOLING(1)
  POOLING(2)
  POOLING(3)
  BACKWARD(2)
  BACKWARD(3)
#undef POOLING
#undef BACKWARD
  define(m, "adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)");
  m.impl("max_pool1d_with_indices", &max_pool1d_with_indices);
  m.impl("adaptive_max_pool1d", &adaptive_max_pool1d);
}

OPYARD_LIBRARY_FRAGMENT(opyard, m) {
  m.def("max_pool_scatter(Tensor grad, Tensor indices, int[] sizes, int dims) -> Tensor",
        &max_pool_scatter);
}

OPYARD_KERNELS(m) {
  m.impl("max_pool2d_with_indices", &max_pool<2>);
  m.impl("max_pool3d_with_indices", &max_pool<3>);
  m.impl("adaptive_max_pool2d", &adaptive_max2d);
  m.impl("adaptive_max_pool3d", &adaptive_max3d);
}

}  // namespace opyard::kernels
