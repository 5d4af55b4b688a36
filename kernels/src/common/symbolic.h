// kernels/common/symbolic.h: views of tensors with symbolic sizes. They compute in SymInts, and
// decide nothing.
//
// Depends on: common/check.h, opyard/value/sym_tensor.h.
#pragma once

#include <opyard/value/sym_tensor.h>

#include <vector>

#include "common/check.h"

namespace opyard::kernels {

inline bool has_symbolic_sizes(const Tensor& x) noexcept {
  return x.impl()->has_policy(TensorImpl::kSymbolic);
}

// A tensor without elements on meta, row-major; symbolic if one of its sizes is.
Tensor empty_on_meta(const char* op, const std::vector<SymInt>& sizes, DType dtype);
// The same memory as self under this geometry.
Tensor symbolic_view(const Tensor& self, std::vector<SymInt> sizes, std::vector<SymInt> strides,
                     SymInt offset);

// aten::view and aten::expand for plain sizes: reshape.cpp, view.cpp.
Tensor view_with_sizes(const Tensor& self, IntSpan size);
Tensor expand_to_sizes(const Tensor& self, IntSpan size);

Tensor symbolic_transpose(const Tensor& self, std::size_t dim0, std::size_t dim1);
Tensor symbolic_permute(const char* op, const Tensor& self, IntSpan dims);
Tensor symbolic_unsqueeze(const Tensor& self, std::size_t dim);
// `index` from the front, or from the end if it is negative; whether it is in range is not known.
Tensor symbolic_select(const Tensor& self, std::size_t dim, std::int64_t index);
Tensor symbolic_alias(const Tensor& self);

}  // namespace opyard::kernels
