// kernels/common/complex_parts.cpp: geometry in units of a part, and of both.
#include "common/complex_parts.h"

#include <opyard/tensor/reinterpret.h>
#include <opyard/tensor/wrapped_stride.h>

#include "common/dtypes.h"
#include "common/symbolic.h"

namespace opyard::kernels {
namespace {

Tensor symbolic_with(const Tensor& tensor, DType dtype, std::vector<SymInt> sizes,
                     std::vector<SymInt> strides, SymInt offset) {
  const DimVector none(sizes.size(), 0);
  const Tensor made = reinterpret(tensor, dtype, none, none, 0);
  make_symbolic(made, std::move(sizes), std::move(strides), std::move(offset));
  return made;
}

Tensor symbolic_as_real(const Tensor& complex) {
  const SymIntSpan own_sizes = sym_sizes(complex), own_strides = sym_strides(complex);
  std::vector<SymInt> sizes(own_sizes.begin(), own_sizes.end()), strides;
  for (const SymInt& stride : own_strides) strides.push_back(stride * SymInt(2));
  sizes.emplace_back(2);
  strides.emplace_back(1);
  return symbolic_with(complex, real_for(complex.dtype()), std::move(sizes), std::move(strides),
                       sym_storage_offset(complex) * SymInt(2));
}

Tensor symbolic_as_complex(const Tensor& real) {
  const SymIntSpan own_sizes = sym_sizes(real), own_strides = sym_strides(real);
  std::vector<SymInt> sizes(own_sizes.begin(), own_sizes.end() - 1), strides;
  for (std::size_t i = 0; i < sizes.size(); ++i) strides.push_back(own_strides[i] / SymInt(2));
  return symbolic_with(real, complex_for(real.dtype()), std::move(sizes), std::move(strides),
                       sym_storage_offset(real) / SymInt(2));
}

}  // namespace

Tensor as_real(const Tensor& complex) {
  if (has_symbolic_sizes(complex)) return symbolic_as_real(complex);
  DimVector sizes(complex.sizes()), strides(complex.strides());
  for (std::int64_t& stride : strides) stride = wrapped_product(stride, 2);
  sizes.push_back(2);
  strides.push_back(1);
  return reinterpret(complex, real_for(complex.dtype()), sizes, strides,
                     2 * complex.storage_offset());
}

Tensor as_complex(const Tensor& real) {
  if (has_symbolic_sizes(real)) return symbolic_as_complex(real);
  const std::size_t dims = real.sizes().size() - 1;
  DimVector sizes(real.sizes().first(dims)), strides(real.strides().first(dims));
  for (std::int64_t& stride : strides) stride /= 2;
  return reinterpret(real, complex_for(real.dtype()), sizes, strides, real.storage_offset() / 2);
}

Tensor part_of(const Tensor& complex, std::int64_t which) {
  const Tensor both = as_real(complex);
  const IntSpan sizes = both.sizes(), strides = both.strides();
  return both.as_strided(sizes.first(sizes.size() - 1), strides.first(strides.size() - 1),
                         both.storage_offset() + which);
}

}  // namespace opyard::kernels
