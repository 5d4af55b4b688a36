// kernels/neural/columns.cpp: im2col and col2im: the windows of images as columns, and back, where
// each place sums what was read of it. Each is the derivative of the other.
#include <algorithm>

#include "common/copy.h"
#include "common/define.h"
#include "common/dtypes.h"
#include "common/kernels_block.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "common/releasing.h"
#include "neural/windows.h"

namespace opyard::kernels {
namespace {

struct Lists {
  const char* op;
  IntSpan kernel, dilation, padding, stride;
};

std::int64_t of(IntSpan list, std::size_t i) { return list[list.size() == 1 ? 0 : i]; }

// Whether columns of so many rows, and images, can be counted.
bool is_countable(const Windows& w, std::int64_t channels) {
  std::int64_t rows = channels, columns = 1, elements = 1;
  bool fits = true;
  for (std::size_t i = 1; i < 3; ++i) {
    fits = fits && !__builtin_mul_overflow(rows, w.kernel[i], &rows) &&
           !__builtin_mul_overflow(columns, w.count[i], &columns) &&
           !__builtin_mul_overflow(elements, w.image[i], &elements);
  }
  return fits;
}

// The windows of images of this height and width. Raises BadValue.
Windows windows_of(const Lists& lists, std::int64_t channels, std::int64_t height,
                   std::int64_t width) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 62;  // with padding it is a number, too
  const IntSpan all[] = {lists.kernel, lists.dilation, lists.padding, lists.stride};
  bool fits = height > 0 && width > 0 && height <= kLargest && width <= kLargest;
  for (const IntSpan& list : all) {
    fits = fits && (list.size() == 1 || list.size() == 2);
    for (const std::int64_t each : list) {
      fits = fits && each >= (list.data() == lists.padding.data() ? 0 : 1) && each <= 0x7FFF'FFFF;
    }
  }
  Windows w;
  w.image = {1, height, width};
  for (std::size_t i = 0; fits && i < 2; ++i) {
    w.kernel[i + 1] = of(lists.kernel, i);
    w.dilation[i + 1] = of(lists.dilation, i);
    w.padding[i + 1] = of(lists.padding, i);
    w.stride[i + 1] = of(lists.stride, i);
    const std::int64_t left =
        w.image[i + 1] + 2 * w.padding[i + 1] - w.dilation[i + 1] * (w.kernel[i + 1] - 1) - 1;
    w.count[i + 1] = left / w.stride[i + 1] + 1;
    fits = left >= 0;
  }
  if (!fits || !is_countable(w, channels)) {
    refuse(
        ErrorKind::BadValue,
        {lists.op, ": the image is ", height, " by ", width, ", kernel_size is ", lists.kernel,
         ", dilation ", lists.dilation, ", padding ", lists.padding, " and stride ", lists.stride,
         "; one or two numbers each, of 0 and more for padding and of 1 and more "
         "for the others, and at least one window in the image are needed, and their elements "
         "must be a number of 64 bits"});
  }
  return w;
}

Tensor im2col(const Tensor& self, IntSpan kernel_size, IntSpan dilation, IntSpan padding,
              IntSpan stride) {
  constexpr const char* kOp = "aten::im2col";
  require_ordered(kOp, "self", self);
  require_dims(kOp, "self", self, 3, 4);
  const Windows w = windows_of({kOp, kernel_size, dilation, padding, stride}, self.size(-3),
                               self.size(-2), self.size(-1));
  const std::int64_t channels = self.size(-3), depth = channels * count_of(w.kernel);
  const std::int64_t pages = self.dim() == 4 ? self.size(0) : 1;
  DimVector sizes;
  if (self.dim() == 4) sizes.push_back(pages);
  sizes.push_back(depth);
  sizes.push_back(count_of(w.count));
  if (is_meta(self)) return empty_beside(self, sizes, self.dtype());
  const Tensor images = row_major(kOp, in_carrier(kOp, self));
  const Tensor result = Tensor::empty(sizes, images.dtype());
  visit_computed(images.dtype(), [&](auto sample) {
    using T = decltype(sample);
    const std::int64_t windows = count_of(w.count);
    const T* const from = elements_of<const T>(images);
    T* const to = elements_of<T>(result);
    without_gil_for(result.numel(), [&] {
      for (std::int64_t page = 0; page < pages; ++page) {
        read_columns(w, from + page * channels * count_of(w.image), channels, 0, windows,
                     to + page * depth * windows);
      }
    });
  });
  return converted(kOp, result, self.dtype());
}

Tensor col2im(const Tensor& self, IntSpan output_size, IntSpan kernel_size, IntSpan dilation,
              IntSpan padding, IntSpan stride) {
  constexpr const char* kOp = "aten::col2im";
  require_floats(kOp, "self", self);
  require_dims(kOp, "self", self, 2, 3);
  if (output_size.size() != 1 && output_size.size() != 2) {
    refuse(ErrorKind::BadValue, {kOp, ": output_size is ", output_size, "; two sizes are needed"});
  }
  const Windows w = windows_of({kOp, kernel_size, dilation, padding, stride}, 1, of(output_size, 0),
                               of(output_size, 1));
  const std::int64_t depth = self.size(-2), windows = count_of(w.count);
  if (depth % count_of(w.kernel) != 0 || self.size(-1) != windows) {
    refuse(ErrorKind::BadShape,
           {kOp, ": self is ", self, "; rows in multiples of ", count_of(w.kernel), " and ",
            windows, " columns are needed for output_size ", output_size});
  }
  const std::int64_t channels = depth / count_of(w.kernel);
  const std::int64_t pages = self.dim() == 3 ? self.size(0) : 1;
  DimVector sizes;
  if (self.dim() == 3) sizes.push_back(pages);
  for (const std::int64_t each : {channels, w.image[1], w.image[2]}) sizes.push_back(each);
  if (is_meta(self)) return empty_beside(self, sizes, self.dtype());
  const Tensor columns = row_major(kOp, in_carrier(kOp, self));
  const Tensor result = Tensor::empty(sizes, columns.dtype());
  visit_floats(columns, [&](auto sample) {
    using T = decltype(sample);
    const T* const from = elements_of<const T>(columns);
    T* const to = elements_of<T>(result);
    const std::int64_t count = result.numel();
    without_gil_for(columns.numel() + count, [&] {
      std::fill(to, to + count, T(0));
      for (std::int64_t page = 0; page < pages; ++page) {
        add_columns(w, from + page * depth * windows, channels, 0, windows,
                    to + page * channels * count_of(w.image));
      }
    });
  });
  return converted(kOp, result, self.dtype());
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m, {"im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] "
             "stride) -> Tensor",
             "col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, "
             "int[2] padding, int[2] stride) -> Tensor"});
  define_out(m, "im2col", "out", Form::WithFormula);
  define_out(m, "col2im", "out", Form::WithFormula);
  m.derivative("im2col", {{"self",
                           "col2im(grad, [size(self, -2), size(self, -1)], kernel_size, dilation, "
                           "padding, stride)"}});
  m.derivative("col2im", {{"self", "im2col(grad, kernel_size, dilation, padding, stride)"}});
}

OPYARD_KERNELS(m) {
  m.impl("im2col", &im2col);
  m.impl("col2im", &col2im);
}

}  // namespace opyard::kernels
