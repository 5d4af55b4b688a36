// kernels/gradients/gradients.cpp: operators that formulas of derivatives are made of.
//
// They are operators like any other, and have derivatives of their own or are made of operators
// that have: so a gradient can be differentiated again. Those that look at no element are asked
// when a call is taped, and what they were asked of is not saved.
#include <opyard/library.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "common/broadcast.h"
#include "common/check.h"
#include "common/copy.h"
#include "common/ops.h"
#include "common/options.h"
#include "common/symbolic.h"
#include "reduction/rows.h"

namespace opyard::kernels {
namespace {

using Ints = std::vector<std::int64_t>;

Tensor expand_to(const Tensor& self, IntSpan sizes) {
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan, bool)> op("aten::expand");
  return op.call(self, sizes, false);
}
Tensor view_as_sizes(const Tensor& self, IntSpan sizes) {
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan)> op("aten::reshape");
  return op.call(self, sizes);
}
Tensor sum_over(const Tensor& self, IntSpan dims, bool keepdim) {
  static constinit FoundOperator<Tensor(const Tensor&, std::optional<IntSpan>, bool,
                                        std::optional<DType>)>
      op("aten::sum.dim_IntList");
  return op.call(self, dims, keepdim, std::nullopt);
}
Tensor mul(const Tensor& a, const Tensor& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> op("aten::mul.Tensor");
  return op.call(a, b);
}
Tensor mul(const Tensor& a, const Scalar& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Scalar&)> op("aten::mul.Scalar");
  return op.call(a, b);
}
Tensor div(const Tensor& a, const Tensor& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> op("aten::div.Tensor");
  return op.call(a, b);
}
Tensor call_power(const Tensor& a, const Scalar& exponent) {
  static constinit FoundOperator<Tensor(const Tensor&, const Scalar&)> op(
      "aten::pow.Tensor_Scalar");
  return op.call(a, exponent);
}
Tensor masked_kernel(const Tensor& a, const Tensor& mask) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&, const Scalar&)> op(
      "aten::masked_fill.Scalar");
  return op.call(a, mask, Scalar(std::int64_t{0}));
}
Tensor call_comparison(const char* name, const Tensor& a, const Scalar& b) {
  return require_operator(name).typed<Tensor(const Tensor&, const Scalar&)>().call(a, b);
}

Tensor sum_to_sizes(const Tensor& self, std::optional<IntSpan> sizes) {
  constexpr const char* kOp = "opyard::sum_to";
  require_defined(kOp, "self", self);
  if (!sizes || std::ranges::equal(self.sizes(), *sizes)) return self;
  const std::size_t count = self.sizes().size();
  if (const SizeClash misfit = find_misfit(*sizes, self.sizes())) {
    refuse_misfit(kOp, {"size", *sizes}, {"self", self}, misfit);
  }
  const std::size_t lead = count - sizes->size();
  DimVector dims;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t size = self.sizes()[i];
    if (i < lead || ((*sizes)[i - lead] == 1 && size != 1)) {
      dims.push_back(std::int64_t(i));
    }
  }
  const Tensor summed = dims.empty() ? self : sum_over(self, dims, true);
  return view_as_sizes(summed, *sizes);
}
Tensor sum_to(const Tensor& self, const Tensor& other) {
  require_defined("opyard::sum_to", "other", other);
  return sum_to_sizes(self, other.sizes());
}

Ints sizes(const Tensor& self) {
  require_defined("opyard::sizes", "self", self);
  return {self.sizes().begin(), self.sizes().end()};
}
std::int64_t storage_offset(const Tensor& self) { return self.storage_offset(); }
std::int64_t storage_size(const Tensor& self) {
  require_defined("opyard::storage_size", "self", self);
  return std::int64_t(self.impl()->storage()->bytes() / item_size(self.dtype()));
}
std::int64_t numel_of(const Tensor& self, std::optional<IntSpan> dim) {
  const SmallVector<bool, 8> flags = reduced_dims("opyard::numel_of", dim, self);
  std::int64_t count = 1;
  for (std::size_t i = 0; i < self.sizes().size(); ++i) {
    if (flags[i]) count *= self.sizes()[i];
  }
  return count;
}

// The dimensions that a reduction took away come back, each as long as it was.
Tensor expand_dims(const Tensor& self, IntSpan size, std::optional<IntSpan> dim, bool keepdim) {
  constexpr const char* kOp = "opyard::expand_dims";
  require_defined(kOp, "self", self);
  Tensor whole = self;
  if (!keepdim && !size.empty()) {
    DimVector with_ones(size);
    if (!dim || dim->empty()) {
      std::fill(with_ones.begin(), with_ones.end(), 1);
    } else {
      for (const std::int64_t one : *dim) {
        with_ones[std::size_t(wrap_dim(kOp, one, std::int64_t(size.size())))] = 1;
      }
    }
    whole = view_as_sizes(self, with_ones);
  }
  return expand_to(whole, size);
}

// Each of several equal extremes gets its part. NaN, which is no extreme and equals nothing, is
// shared among what is NaN.
Tensor extremum_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                         std::optional<IntSpan> dim, bool keepdim) {
  static constinit FoundOperator<Tensor(const Tensor&)> is_nan("aten::isnan");
  static constinit FoundOperator<Tensor(const Tensor&, DType, bool, bool,
                                        std::optional<MemoryFormat>)>
      to("aten::to.dtype");
  const IntSpan sizes = self.sizes();
  const auto spread = [&](const Tensor& x) { return expand_dims(x, sizes, dim, keepdim); };
  const Tensor chosen =
      ops::where(spread(is_nan.call(result)), is_nan.call(self), ops::equals(self, spread(result)));
  const Tensor mask = to.call(chosen, self.dtype(), false, false, std::nullopt);
  DimVector dims(dim.value_or(IntSpan()));
  if (dims.empty()) {
    for (std::size_t i = 0; i < sizes.size(); ++i) dims.push_back(std::int64_t(i));
  }
  const Tensor count = dims.empty() ? mask : sum_over(mask, dims, keepdim);
  return mul(spread(div(grad, count)), mask);
}

Tensor pow_backward(const Tensor& grad, const Tensor& self, const Scalar& exponent) {
  if (is_complex(self.dtype()) || exponent.is_complex()) {
    const std::complex<double> number = exponent.to_complex();
    if (number == 0.0) return mul(grad, Scalar(std::int64_t{0}));
    return mul(grad, ops::conj(mul(call_power(self, Scalar(number - 1.0)), exponent)));
  }
  const double number = exponent.to_double();
  if (number == 0) return mul(grad, Scalar(std::int64_t{0}));
  return mul(mul(grad, exponent), call_power(self, Scalar(number - 1)));
}
Tensor pow_scalar_backward(const Tensor& grad, const Scalar& self, const Tensor& exponent,
                           const Tensor& result) {
  if (is_complex(exponent.dtype()) || self.is_complex()) {
    const std::complex<double> base = self.to_complex();
    const Tensor of_result = mul(grad, ops::conj(mul(result, Scalar(std::log(base)))));
    if (base != 0.0) return of_result;
    const Tensor has_slope = call_comparison("aten::ge.Scalar", ops::real(exponent), 0);
    return masked_kernel(of_result, has_slope);
  }
  const double base = self.to_double();
  if (base == 0) {  // whose powers are flat from the exponent 0 on, and infinite below
    static constinit FoundOperator<Tensor(const Scalar&, const Tensor&)> power("aten::pow.Scalar");
    const Tensor flat = call_comparison("aten::ge.Scalar", exponent, self);
    const Tensor steep = power.call(self, ops::masked(exponent, flat, -1));
    return mul(grad, masked_kernel(mul(steep, Scalar(__builtin_log(0.0))), flat));
  }
  return mul(mul(grad, result), Scalar(__builtin_log(base)));
}

Tensor clamp_backward(const Tensor& grad, const Tensor& self, std::optional<Scalar> min,
                      std::optional<Scalar> max) {
  Tensor result = grad;
  const auto unless = [&](const char* inside, const Scalar& bound) {  // NaN is nowhere inside
    result = masked_kernel(result, ops::negation(call_comparison(inside, self, bound)));
  };
  if (min) unless("aten::ge.Scalar", *min);
  if (max) unless("aten::le.Scalar", *max);
  return result;
}

// Whether a matrix is the transpose of a row-major one, and not row-major itself.
bool is_column_major(const Tensor& self) {
  require_defined("opyard::is_column_major", "self", self);
  return self.dim() == 2 && !has_symbolic_sizes(self) && !self.is_contiguous() &&
         self.strides()[0] == 1 && self.strides()[1] == self.sizes()[0];
}
// A product whose elements lie as asked: the gradient of a factor as the factor does, since a leaf
// copies what it cannot keep. The elements are the same, of fewer than four rows or columns but for
// their last bits: see loops/table.h.
Tensor mm_in_order(const Tensor& self, const Tensor& mat2, bool column_major) {
  static constinit FoundOperator<Tensor(const Tensor&)> t("aten::t");
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> mm("aten::mm");
  if (!column_major) return mm.call(self, mat2);
  return t.call(mm.call(t.call(mat2), t.call(self)));
}

Tensor permute_back(const Tensor& self, IntSpan dims) {
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan)> permute("aten::permute");
  DimVector back(dims.size(), 0);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    back[std::size_t(wrap_dim("opyard::permute_back", dims[i], std::int64_t(dims.size())))] =
        std::int64_t(i);
  }
  return permute.call(self, back);
}

// What was there before a write stays if it was added to, and wherever nothing was written.
Tensor index_put_backward(const Tensor& grad, const Indices& indices, bool accumulate) {
  static constinit FoundOperator<Tensor(const Tensor&, const Indices&)> index("aten::index.Tensor");
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan, const Indices&)> back(
      "opyard::index_backward");
  if (accumulate) return grad;
  const Tensor written = Tensor::empty(index.call(grad, indices).sizes(), DType::Float64);
  fill_elements(written, Number::of<double>(1));
  return masked_kernel(grad,
                       call_comparison("aten::gt.Scalar", back.call(written, grad.sizes(), indices),
                                       Scalar(std::int64_t{0})));
}

// What was rounded is made of steps, and has the slope zero between them.
Tensor unless_rounded(const Tensor& self, std::optional<std::string_view> rounding_mode) {
  return rounding_mode ? ops::zeros(self, self.sizes()) : self;
}

Ints extents(const std::vector<Tensor>& tensors, std::int64_t dim) {
  Ints all;
  for (const Tensor& tensor : tensors) {
    const bool left_out = tensor.dim() == 1 && tensor.numel() == 0;
    all.push_back(left_out ? -1 : tensor.size(dim));
  }
  return all;
}
std::vector<Tensor> split_extents(const Tensor& self, IntSpan extents, std::int64_t dim) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, std::int64_t, std::int64_t)>
      narrow("aten::narrow");
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (const std::int64_t extent : extents) {
    if (extent < 0) {
      parts.push_back(ops::zeros(self, std::array{std::int64_t{0}}));
      continue;
    }
    parts.push_back(narrow.call(self, dim, start, extent));
    start += extent;
  }
  return parts;
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) { m.def("storage_offset(Tensor self) -> int", &storage_offset); }

OPYARD_LIBRARY_FRAGMENT(opyard, m) {
  m.def("sum_to.sizes(Tensor(a) self, int[]? size) -> Tensor(a)", &sum_to_sizes);
  m.def("sum_to(Tensor(a) self, Tensor other) -> Tensor(a)", &sum_to);
  m.def("sizes(Tensor self) -> int[]", &sizes);
  m.def("storage_size(Tensor self) -> int", &storage_size);
  m.def("numel_of(Tensor self, int[]? dim) -> int", &numel_of);
  m.def("extents(Tensor[] tensors, int dim) -> int[]", &extents);
  m.def("expand_dims(Tensor(a) self, int[] size, int[]? dim, bool keepdim) -> Tensor(a)",
        &expand_dims);
  m.def(
      "extremum_backward(Tensor grad, Tensor self, Tensor result, int[]? dim, bool keepdim) -> "
      "Tensor",
      &extremum_backward);
  m.def("pow_backward(Tensor grad, Tensor self, Scalar exponent) -> Tensor", &pow_backward);
  m.def("pow_scalar_backward(Tensor grad, Scalar self, Tensor exponent, Tensor result) -> Tensor",
        &pow_scalar_backward);
  m.def("clamp_backward(Tensor grad, Tensor self, Scalar? min, Scalar? max) -> Tensor",
        &clamp_backward);
  m.def("is_column_major(Tensor self) -> bool", &is_column_major);
  m.def("mm_in_order(Tensor self, Tensor mat2, bool column_major) -> Tensor", &mm_in_order);
  m.def("permute_back(Tensor self, int[] dims) -> Tensor", &permute_back);
  m.def("index_put_backward(Tensor grad, Tensor?[] indices, bool accumulate) -> Tensor",
        &index_put_backward);
  m.def("unless_rounded(Tensor(a) self, str? rounding_mode) -> Tensor(a)", &unless_rounded);
  m.def("split_extents(Tensor self, int[] extents, int dim) -> Tensor[]", &split_extents);

  m.derivative("sum_to", {{"self", "expand(grad, sizes(self))"}, {"other", "None"}});
  m.derivative("sum_to.sizes", {{"self", "expand(grad, sizes(self))"}});
}

}  // namespace opyard::kernels
