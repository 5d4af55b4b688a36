// kernels/common/complex_parts.cpp: geometry in units of a part, and of both.
#include "common/complex_parts.h"

#include "common/dtypes.h"

namespace opyard::kernels {
namespace {

Tensor with_geometry(const Tensor& tensor, DType dtype, IntSpan sizes, IntSpan strides,
                     std::int64_t offset) {
  const TensorImpl& impl = *tensor.impl();
  return Tensor(
      make_counted<TensorImpl>(impl.storage(), dtype, sizes, strides, offset, impl.keys()));
}

}  // namespace

Tensor as_real(const Tensor& complex) {
  DimVector sizes(complex.sizes()), strides(complex.strides());
  for (std::int64_t& stride : strides) stride *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  return with_geometry(complex, real_for(complex.dtype()), sizes, strides,
                       2 * complex.storage_offset());
}

Tensor as_complex(const Tensor& real) {
  const std::size_t dims = real.sizes().size() - 1;
  DimVector sizes(real.sizes().first(dims)), strides(real.strides().first(dims));
  for (std::int64_t& stride : strides) stride /= 2;
  return with_geometry(real, complex_for(real.dtype()), sizes, strides, real.storage_offset() / 2);
}

Tensor part_of(const Tensor& complex, std::int64_t which) {
  const Tensor both = as_real(complex);
  const IntSpan sizes = both.sizes(), strides = both.strides();
  return both.as_strided(sizes.first(sizes.size() - 1), strides.first(strides.size() - 1),
                         both.storage_offset() + which);
}

}  // namespace opyard::kernels
