// tensor/views.cpp: views for authors of kernels, and their checks.
#include "opyard/tensor/views.h"

#include "opyard/tensor/broadcast.h"
#include "opyard/tensor/wrapped_stride.h"

#include <fmt/format.h>

#include <utility>

namespace opyard {
namespace {

// A dimension counted from the front, of `count`. Raises BadIndex.
std::size_t require_view_dim(const char* view, std::int64_t dim, std::int64_t count,
                             const Tensor& x) {
  if (dim < -count || dim >= count) {
    fail(ErrorKind::BadIndex, count == 0
                                  ? fmt::format("{} of {}: it has no dimensions, and {} was named",
                                                view, describe(x), dim)
                                  : fmt::format("{} of {}: dimension {} is out of range; "
                                                "accepted are {} to {}",
                                                view, describe(x), dim, -count, count - 1));
  }
  return std::size_t(dim < 0 ? dim + count : dim);
}

}  // namespace

Tensor select(const Tensor& x, std::int64_t dim, std::int64_t index) {
  const std::size_t at = require_view_dim("select", dim, x.dim(), x);
  const std::int64_t size = x.sizes()[at];
  if (index < -size || index >= size) {
    fail(ErrorKind::BadIndex,
         fmt::format("select of {}: index {} is out of range for dimension {} of size {}",
                     describe(x), index, at, size));
  }
  DimVector sizes, strides;
  for (std::size_t i = 0; i < x.sizes().size(); ++i) {
    if (i == at) continue;
    sizes.push_back(x.sizes()[i]);
    strides.push_back(x.strides()[i]);
  }
  const std::int64_t place = index < 0 ? index + size : index;
  const std::int64_t from = x.numel() == 0 ? 0 : place * x.strides()[at];
  return x.as_strided(sizes, strides, x.storage_offset() + from);
}

Tensor narrow(const Tensor& x, std::int64_t dim, std::int64_t start, std::int64_t length) {
  const std::size_t at = require_view_dim("narrow", dim, x.dim(), x);
  const std::int64_t size = x.sizes()[at];
  const std::int64_t from = start < 0 ? start + size : start;
  if (from < 0 || from > size || length < 0 || length > size - from) {
    fail(ErrorKind::BadIndex,
         fmt::format("narrow of {}: {} elements from {} on are not in dimension {} of size {}",
                     describe(x), length, start, at, size));
  }
  DimVector sizes(x.sizes());
  sizes[at] = length;
  // No step if nothing is left: past the last element there may be no memory.
  const std::int64_t step = length == 0 || x.numel() == 0 ? 0 : from * x.strides()[at];
  return x.as_strided(sizes, x.strides(), x.storage_offset() + step);
}

Tensor transpose(const Tensor& x, std::int64_t dim0, std::int64_t dim1) {
  const std::size_t a = require_view_dim("transpose", dim0, x.dim(), x);
  const std::size_t b = require_view_dim("transpose", dim1, x.dim(), x);
  DimVector sizes(x.sizes()), strides(x.strides());
  std::swap(sizes[a], sizes[b]);
  std::swap(strides[a], strides[b]);
  return x.as_strided(sizes, strides, x.storage_offset());
}

Tensor permute(const Tensor& x, IntSpan dims) {
  DimVector seen(x.sizes().size(), 0);
  DimVector sizes, strides;
  for (const std::int64_t dim : dims) {
    const std::size_t at = require_view_dim("permute", dim, x.dim(), x);
    ++seen[at];
    sizes.push_back(x.sizes()[at]);
    strides.push_back(x.strides()[at]);
  }
  for (const std::int64_t times : seen) {
    if (times != 1) {
      fail(ErrorKind::BadShape, fmt::format("permute of {}: dims {} must name each dimension once",
                                            describe(x), describe_sizes(dims)));
    }
  }
  return x.as_strided(sizes, strides, x.storage_offset());
}

Tensor unsqueeze(const Tensor& x, std::int64_t dim) {
  const std::size_t at = require_view_dim("unsqueeze", dim, x.dim() + 1, x);
  DimVector sizes, strides;
  for (std::size_t i = 0; i <= x.sizes().size(); ++i) {
    const bool last = i == x.sizes().size();
    if (i == at) {
      sizes.push_back(1);
      strides.push_back(last ? 1 : wrapped_product(x.strides()[i], x.sizes()[i]));
    }
    if (last) break;
    sizes.push_back(x.sizes()[i]);
    strides.push_back(x.strides()[i]);
  }
  return x.as_strided(sizes, strides, x.storage_offset());
}

Tensor expand(const Tensor& x, IntSpan sizes) { return expand_to("expand", x, sizes); }

Tensor view(const Tensor& x, IntSpan sizes) {
  DimVector result(sizes);
  std::int64_t known = 1;
  std::optional<std::size_t> open;
  bool fits = true;
  for (std::size_t i = 0; fits && i < sizes.size(); ++i) {
    if (sizes[i] == -1 && !open) {
      open = i;
    } else {
      fits = sizes[i] >= 0 && !__builtin_mul_overflow(known, sizes[i], &known);
    }
  }
  if (fits && open) {
    fits = known != 0 && x.numel() % known == 0;
    if (fits) result[*open] = x.numel() / known;
  } else if (fits) {
    fits = known == x.numel();
  }
  if (!fits) {
    fail(ErrorKind::BadShape,
         fmt::format("view of {} as {}: the product of the sizes must be {}, and one may be -1 for "
                     "what is left",
                     describe(x), describe_sizes(sizes), x.numel()));
  }
  const std::optional<DimVector> strides = find_view_strides(x, result);
  if (!strides) {
    fail(ErrorKind::BadShape,
         fmt::format("view of {} with strides {} as {}: its elements are not ordered so; take "
                     "view(contiguous(x), sizes), which copies them",
                     describe(x), describe_sizes(x.strides()), describe_sizes(result)));
  }
  return x.as_strided(result, *strides, x.storage_offset());
}

Tensor Tensor::select(std::int64_t dim, std::int64_t index) const {
  return opyard::select(*this, dim, index);
}
Tensor Tensor::narrow(std::int64_t dim, std::int64_t start, std::int64_t length) const {
  return opyard::narrow(*this, dim, start, length);
}
Tensor Tensor::transpose(std::int64_t dim0, std::int64_t dim1) const {
  return opyard::transpose(*this, dim0, dim1);
}
Tensor Tensor::permute(IntSpan dims) const { return opyard::permute(*this, dims); }
Tensor Tensor::unsqueeze(std::int64_t dim) const { return opyard::unsqueeze(*this, dim); }
Tensor Tensor::expand(IntSpan sizes) const { return opyard::expand(*this, sizes); }
Tensor Tensor::view(IntSpan sizes) const { return opyard::view(*this, sizes); }

}  // namespace opyard
