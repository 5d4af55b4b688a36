// kernels/neural/average_pool.cpp: averages of windows, and their gradients.
//
// An average is linear: the gradient of the gradient is the average again.
#include <opyard/interpreter/gil.h>
#include <opyard/parallel.h>

#include <algorithm>

#include "common/broadcast.h"
#include "common/copy.h"
#include "common/define.h"
#include "common/kernels_block.h"
#include "common/ops.h"
#include "common/options.h"
#include "common/releasing.h"
#include "geometry/symbolic_calls.h"
#include "loops/element.h"
#include "neural/pool_windows.h"

namespace opyard::kernels {
namespace {

template <typename Body>
void by_pages(const PoolWindows& windows, const Body& body) {
  const std::int64_t one = windows.image_count() + windows.window_count();
  const std::int64_t grain = std::max<std::int64_t>(kElementsOfAThread / 4 / one, 1);
  without_gil_for(windows.pages * one, [&] { parallel_for(0, windows.pages, grain, body); });
}

// Sums of integers wrap, and so does the smallest one over -1.
template <typename T>
T average(T sum, T divisor) {
  if constexpr (std::is_integral_v<T>) {
    return divisor == -1 ? subtract(T(0), sum) : T(sum / divisor);
  } else {
    return sum / divisor;
  }
}

Tensor averages(const char* op, const PoolWindows& windows, const Tensor& self, MaybeInt divisor) {
  require_numbers(op, "self", self);
  if (is_meta(self) || count_elements(windows.sizes) == 0) {
    return empty_beside(self, windows.sizes, self.dtype());
  }
  const Tensor from = row_major(op, in_carrier(op, self));
  const Tensor result = Tensor::empty(windows.sizes, from.dtype());
  visit_numbers(from, [&](auto sample) {
    using T = decltype(sample);
    const T* const in = elements_of<const T>(from);
    T* const out = elements_of<T>(result);
    by_pages(windows, [&](std::int64_t first, std::int64_t last) {
      each_window(windows, first, last,
                  [&](std::int64_t page, std::int64_t window, std::int64_t count, const auto& box) {
                    const T* const image = in + page * windows.image_count();
                    T sum = 0;
                    box([&](std::int64_t place) { sum = add(sum, image[place]); });
                    out[page * windows.window_count() + window] =
                        average(sum, T(divisor.value_or(count)));
                  });
    });
  });
  return converted(op, result, self.dtype());
}

Tensor averages_backward(const char* op, const PoolWindows& windows, const Tensor& grad,
                         const Tensor& self, MaybeInt divisor) {
  require_floats(op, "grad_output", grad);
  require_dtype(op, "self", self, grad.dtype());
  if (!std::ranges::equal(grad.sizes(), windows.sizes)) {
    refuse(ErrorKind::BadShape, {op, ": grad_output is ", grad, "; its sizes must be ",
                                 windows.sizes, ", those of the result"});
  }
  if (is_meta(self)) return empty_beside(self, self.sizes(), self.dtype());
  const Tensor from = row_major(op, in_carrier(op, grad));
  const Tensor result = Tensor::empty(self.sizes(), from.dtype());
  fill_elements(result, Number());
  visit_floats(from, [&](auto sample) {
    using T = decltype(sample);
    const T* const in = elements_of<const T>(from);
    T* const out = elements_of<T>(result);
    by_pages(windows, [&](std::int64_t first, std::int64_t last) {
      each_window(windows, first, last,
                  [&](std::int64_t page, std::int64_t window, std::int64_t count, const auto& box) {
                    T* const image = out + page * windows.image_count();
                    const T share =
                        in[page * windows.window_count() + window] / T(divisor.value_or(count));
                    box([&](std::int64_t place) { image[place] += share; });
                  });
    });
  });
  return converted(op, result, self.dtype());
}

constexpr std::int64_t kOne[] = {1};

void require_divisor(const char* op, MaybeInt divisor) {
  if (divisor && *divisor == 0) {
    refuse(ErrorKind::BadValue, {op, ": divisor_override is 0; any other number is accepted"});
  }
}

template <int dims>
constexpr const char* kAveragePoolName = dims == 2 ? "aten::avg_pool2d" : "aten::avg_pool3d";
template <int dims>
constexpr const char* kBackwardName =
    dims == 2 ? "aten::avg_pool2d_backward" : "aten::avg_pool3d_backward";

template <int dims>
Tensor avg_pool(const Tensor& self, IntSpan kernel_size, IntSpan stride, IntSpan padding,
                bool ceil_mode, bool count_include_pad, MaybeInt divisor_override) {
  constexpr const char* kOp = kAveragePoolName<dims>;
  require_divisor(kOp, divisor_override);
  const PoolLists lists{kOp,     dims, kernel_size, stride,
                        padding, kOne, ceil_mode,   count_include_pad};
  return averages(kOp, pool_windows(lists, self), self, divisor_override);
}
template <int dims>
Tensor avg_pool_backward(const Tensor& grad_output, const Tensor& self, IntSpan kernel_size,
                         IntSpan stride, IntSpan padding, bool ceil_mode, bool count_include_pad,
                         MaybeInt divisor_override) {
  constexpr const char* kOp = kBackwardName<dims>;
  require_divisor(kOp, divisor_override);
  const PoolLists lists{kOp,     dims, kernel_size, stride,
                        padding, kOne, ceil_mode,   count_include_pad};
  return averages_backward(kOp, pool_windows(lists, self), grad_output, self, divisor_override);
}

Tensor adaptive_average2d(const Tensor& self, IntSpan output_size) {
  constexpr const char* kOp = "aten::_adaptive_avg_pool2d";
  return averages(kOp, adaptive_windows(kOp, 2, self, output_size), self, std::nullopt);
}
Tensor adaptive_average3d(const Tensor& self, IntSpan output_size) {
  constexpr const char* kOp = "aten::_adaptive_avg_pool3d";
  return averages(kOp, adaptive_windows(kOp, 3, self, output_size), self, std::nullopt);
}
template <int dims>
Tensor adaptive_backward(const Tensor& grad_output, const Tensor& self) {
  constexpr const char* kOp =
      dims == 2 ? "aten::_adaptive_avg_pool2d_backward" : "aten::_adaptive_avg_pool3d_backward";
  require_defined(kOp, "grad_output", grad_output);
  require_dims(kOp, "grad_output", grad_output, dims + 1, dims + 2);
  const PoolWindows windows =
      adaptive_windows(kOp, dims, self, grad_output.sizes().last(std::size_t(dims)));
  return averages_backward(kOp, windows, grad_output, self, std::nullopt);
}

// One dimension is two, of which the first is 1.
Tensor avg_pool1d(const Tensor& self, IntSpan kernel_size, IntSpan stride, IntSpan padding,
                  bool ceil_mode, bool count_include_pad) {
  using Pool = Tensor(const Tensor&, IntSpan, IntSpan, IntSpan, bool, bool, MaybeInt);
  static constinit FoundOperator<Pool> op("aten::avg_pool2d");
  constexpr const char* kOp = "aten::avg_pool1d";
  require_defined(kOp, "self", self);
  require_dims(kOp, "self", self, 2, 3);
  const IntSpan steps = stride.empty() ? kernel_size : stride;
  if (kernel_size.size() != 1 || steps.size() != 1 || padding.size() != 1) {
    refuse(ErrorKind::BadValue,
           {kOp, ": one number is needed for kernel_size, stride and padding"});
  }
  const std::array kernel = {std::int64_t{1}, kernel_size[0]}, step = {std::int64_t{1}, steps[0]};
  const std::array pad = {std::int64_t{0}, padding[0]};
  return ops::squeeze(op.call(ops::unsqueeze(self, -2), kernel, step, pad, ceil_mode,
                              count_include_pad, std::nullopt),
                      -2);
}
using Adaptive = Tensor(const Tensor&, IntSpan);
Tensor adaptive_avg_pool2d(const Tensor& self, IntSpan output_size) {
  static constinit FoundOperator<Adaptive> op("aten::_adaptive_avg_pool2d");
  return named("aten::adaptive_avg_pool2d", "aten::_adaptive_avg_pool2d",
               [&] { return op.call(self, output_size); });
}
Tensor adaptive_avg_pool3d(const Tensor& self, IntSpan output_size) {
  static constinit FoundOperator<Adaptive> op("aten::_adaptive_avg_pool3d");
  return named("aten::adaptive_avg_pool3d", "aten::_adaptive_avg_pool3d",
               [&] { return op.call(self, output_size); });
}
Tensor adaptive_avg_pool1d(const Tensor& self, IntSpan output_size) {
  constexpr const char* kOp = "aten::adaptive_avg_pool1d";
  require_defined(kOp, "self", self);
  require_dims(kOp, "self", self, 2, 3);
  if (output_size.size() != 1) {
    refuse(ErrorKind::BadValue, {kOp, ": output_size is ", output_size, "; one size is needed"});
  }
  const std::array sizes = {std::int64_t{1}, output_size[0]};
  return ops::squeeze(adaptive_avg_pool2d(ops::unsqueeze(self, -2), sizes), -2);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m, {"avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, bool "
             "ceil_mode=False, bool count_include_pad=True) -> Tensor",
             "adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor",
             "adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
             "adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor"});
  m.impl("avg_pool1d", &avg_pool1d);
  m.impl("adaptive_avg_pool1d", &adaptive_avg_pool1d);
  m.impl("adaptive_avg_pool2d",
         Kernel::with_symbolic<&adaptive_avg_pool2d, &symbolic_output_size>());
  m.impl("adaptive_avg_pool3d",
         Kernel::with_symbolic<&adaptive_avg_pool3d, &symbolic_output_size>());
#define POOLING(n)                                                                               \
  define(m,                                                                                      \
         {"avg_pool" #n "d(Tensor self, int[" #n "] kernel_size, int[" #n "] stride=[], int[" #n \
          "] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? "                \
          "divisor_override=None) -> Tensor",                                                    \
          "avg_pool" #n "d_backward(Tensor grad_output, Tensor self, int[" #n                    \
          "] kernel_size, int[" #n "] stride, int[" #n                                           \
          "] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> "        \
          "Tensor",                                                                              \
          "_adaptive_avg_pool" #n "d(Tensor self, SymInt[" #n "] output_size) -> Tensor",        \
          "_adaptive_avg_pool" #n "d_backward(Tensor grad_output, Tensor self) -> Tensor"});     \
  m.derivative("avg_pool" #n "d",                                                                \
               {{"self", "avg_pool" #n "d_backward(grad, self, kernel_size, stride, padding, "   \
                         "ceil_mode, count_include_pad, divisor_override)"}});                   \
  m.derivative("avg_pool" #n "d_backward",                                                       \
               {{"grad_output", "avg_pool" #n "d(grad, kernel_size, stride, padding, "           \
                                "ceil_mode, count_include_pad, divisor_override)"},              \
                {"self", "None"}});                                                              \
  m.derivative("_adaptive_avg_pool" #n "d",                                                      \
               {{"self", "_adaptive_avg_pool" #n "d_backward(grad, self)"}});                    \
  m.derivative(                                                                                  \
      "_adaptive_avg_pool" #n "d_backward",                                                      \
      {{"grad_output", "adaptive_as(grad, sizes(grad_output), " #n ")"}, {"self", "None"}});
  POOLING(2)
  POOLING(3)
#undef POOLING
}

OPYARD_LIBRARY_FRAGMENT(opyard, m) {
  m.def("adaptive_as(Tensor self, int[] sizes, int dims) -> Tensor",
        [](const Tensor& self, IntSpan sizes, std::int64_t dims) {
          if ((dims != 2 && dims != 3) || std::int64_t(sizes.size()) < dims) {
            refuse(ErrorKind::BadValue, {"opyard::adaptive_as: dims is ", dims, " and sizes is ",
                                         sizes, "; the last 2 or 3 of them are taken"});
          }
          const IntSpan last = sizes.last(std::size_t(dims));
          return dims == 2 ? adaptive_avg_pool2d(self, last) : adaptive_avg_pool3d(self, last);
        });
}

OPYARD_KERNELS(m) {
  m.impl("avg_pool2d", &avg_pool<2>);
  m.impl("avg_pool3d", &avg_pool<3>);
  m.impl("avg_pool2d_backward", &avg_pool_backward<2>);
  m.impl("avg_pool3d_backward", &avg_pool_backward<3>);
  m.impl("_adaptive_avg_pool2d", &adaptive_average2d);
  m.impl("_adaptive_avg_pool3d", &adaptive_average3d);
  m.impl("_adaptive_avg_pool2d_backward", &adaptive_backward<2>);
  m.impl("_adaptive_avg_pool3d_backward", &adaptive_backward<3>);
}

}  // namespace opyard::kernels
