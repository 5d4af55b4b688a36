// kernels/neural/pool_windows.cpp: window bounds of pooling, and checks.
#include "neural/pool_windows.h"

#include <algorithm>

#include "neural/window_lists.h"

namespace opyard::kernels {
namespace {

PoolWindows begin(const char* op, const Tensor& self, std::int64_t dims) {
  require_defined(op, "self", self);
  require_dims(op, "self", self, dims + 1, dims + 2);
  PoolWindows windows;
  const std::size_t lead = std::size_t(self.dim() - dims);
  for (std::size_t i = 0; i < lead; ++i) {
    windows.sizes.push_back(self.sizes()[i]);
    windows.pages *= self.sizes()[i];
  }
  for (std::size_t i = lead; i < self.sizes().size(); ++i) {
    if (self.sizes()[i] == 0) {
      refuse(ErrorKind::BadShape, {op, ": self is ", self, "; its images have no elements"});
    }
  }
  return windows;
}

}  // namespace

PoolWindows pool_windows(const PoolLists& lists, const Tensor& self) {
  PoolWindows windows = begin(lists.op, self, lists.dims);
  require_list(lists.op, "kernel_size", lists.kernel_size, lists.dims, 1);
  require_list(lists.op, "padding", lists.padding, lists.dims, 0);
  require_list(lists.op, "dilation", lists.dilation, lists.dims, 1);
  const IntSpan strides = lists.stride.empty() ? lists.kernel_size : lists.stride;
  require_list(lists.op, "stride", strides, lists.dims, 1);
  for (std::int64_t i = 0; i < lists.dims; ++i) {
    PoolAxis& axis = windows.axes[std::size_t(3 - lists.dims + i)];
    const std::int64_t kernel = at_or_only(lists.kernel_size, std::size_t(i)),
                       stride = at_or_only(strides, std::size_t(i));
    const std::int64_t padding = at_or_only(lists.padding, std::size_t(i));
    axis.step = at_or_only(lists.dilation, std::size_t(i));
    axis.size = self.size(self.dim() - lists.dims + i);
    axis.kernel = kernel, axis.stride = stride, axis.first = -padding;
    if (padding > kernel / 2) {
      refuse(ErrorKind::BadValue, {lists.op, ": padding is ", lists.padding, " and kernel_size is ",
                                   lists.kernel_size, "; at most half of it is accepted"});
    }
    const std::int64_t reach = axis.step * (kernel - 1) + 1;
    const std::int64_t room = axis.size + 2 * padding - reach;
    std::int64_t count = room < 0 ? 0 : room / stride + 1;
    if (lists.ceil_mode) {
      count = (room + stride - 1 + (room < 0 ? 1 - stride : 0)) / stride + 1;
      if ((count - 1) * stride >= axis.size + padding) --count;
    }
    if (count < 1) {
      refuse(ErrorKind::BadShape, {lists.op, ": self is ", self, " and kernel_size is ",
                                   lists.kernel_size, "; dimension ", self.dim() - lists.dims + i,
                                   " of the result would have no elements"});
    }
    axis.begin.clear(), axis.end.clear(), axis.counted.clear();
    for (std::int64_t o = 0; o < count; ++o) {
      std::int64_t start = o * stride - padding;
      const std::int64_t padded_end = std::min(start + reach, axis.size + padding);
      const std::int64_t padded = padded_end - start;
      if (start < 0) start += (axis.step - 1 - start) / axis.step * axis.step;
      axis.begin.push_back(start);
      axis.end.push_back(std::min(padded_end, axis.size));
      axis.counted.push_back(lists.count_include_pad ? padded : axis.end.back() - start);
    }
    windows.sizes.push_back(count);
  }
  return windows;
}

// The windows of a dimension are listed.
constexpr std::int64_t kMostAdaptive = std::int64_t{1} << 24;

PoolWindows adaptive_windows(const char* op, std::int64_t dims, const Tensor& self,
                             IntSpan output_size) {
  if (std::int64_t(output_size.size()) != dims) {
    refuse(ErrorKind::BadValue,
           {op, ": output_size is ", output_size, "; ", dims, " sizes are needed"});
  }
  PoolWindows windows = begin(op, self, dims);
  for (std::int64_t i = 0; i < dims; ++i) {
    PoolAxis& axis = windows.axes[std::size_t(3 - dims + i)];
    axis.size = self.size(self.dim() - dims + i);
    axis.kernel = 0;
    const std::int64_t given = output_size[std::size_t(i)];
    const std::int64_t count = given == -1 ? axis.size : given;
    if (count < 0 || count > kMostAdaptive) {
      refuse(ErrorKind::BadValue, {op, ": output_size is ", output_size, "; sizes from 0 to ",
                                   kMostAdaptive, " are needed, or -1 for self's"});
    }
    axis.begin.clear(), axis.end.clear(), axis.counted.clear();
    for (std::int64_t o = 0; o < count; ++o) {
      axis.begin.push_back(o * axis.size / count);
      axis.end.push_back(((o + 1) * axis.size + count - 1) / count);
      axis.counted.push_back(axis.end.back() - axis.begin.back());
    }
    windows.sizes.push_back(count);
  }
  return windows;
}

}  // namespace opyard::kernels
