// kernels/reduction/scan.cpp: cumulative sums and products along a dimension: cumsum, cumprod,
// prod.
//
// Integers and bools are computed in int64, which wraps; floats are summed and multiplied in
// float64, complex numbers in complex128.
#include <algorithm>
#include <vector>

#include "common/broadcast.h"
#include "common/copy.h"
#include "common/define.h"
#include "common/dtypes.h"
#include "common/kernels_block.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "common/options.h"
#include "common/releasing.h"
#include "loops/element.h"

namespace opyard::kernels {
namespace {

// The dtype of the result: bools and integers give int64.
DType result_dtype(const char* op, const Tensor& self, MaybeDType dtype) {
  require_cpu(op, "self", self);
  const DType wanted = dtype.value_or(category_of(self.dtype()) < 2 ? DType::Int64 : self.dtype());
  if (wanted == DType::Bool) {
    refuse(ErrorKind::Unsupported,
           {op, ": dtype is bool; accepted are integers, floats and complex numbers"});
  }
  return wanted;
}

// self as the carrier of the result's dtype, row-major.
Tensor prepared_scan(const char* op, const Tensor& self, DType wanted) {
  const Tensor whole = converted(op, self, wanted);
  return row_major(op, converted(op, whole, carrier_of(wanted)));  // products wrap
}

// Calls body(T()) with the C++ type of a carrier.
template <typename Body>
void visit_carried(DType dtype, const Body& body) {
  if (dtype == DType::ComplexFloat) return body(Complex64());
  if (dtype == DType::ComplexDouble) return body(Complex128());
  visit_computed(dtype, body);
}

// A dimension between what comes before and behind it.
struct Line {
  std::int64_t outer = 1, length = 1, inner = 1;
  Line(const char* op, const Tensor& self, std::int64_t dim) {
    const std::int64_t at = wrap_dim(op, dim, self.dim());
    for (std::int64_t i = 0; i < self.dim(); ++i) {
      (i < at ? outer : i == at ? length : inner) *= self.sizes()[std::size_t(i)];
    }
  }
};

template <typename T>
using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t,
                               std::conditional_t<is_complex_type<T>, Complex128, double>>;

template <bool product, typename T>
void scan_step(Sum<T>& total, T element) {
  total = product ? total * Sum<T>(element) : total + Sum<T>(element);
}

// The running totals of a dimension; rows behind it are taken side by side.
template <bool product, typename T>
void scan_line(const T* in, T* out, std::int64_t length, std::int64_t inner) {
  constexpr auto kFirst = Sum<T>(product ? 1 : 0);
  if (inner == 1) {
    auto total = kFirst;
    for (std::int64_t k = 0; k < length; ++k) {
      scan_step<product>(total, in[k]);
      out[k] = T(total);
    }
    return;
  }
  std::vector<Sum<T>> totals(std::size_t(inner), kFirst);
  for (std::int64_t k = 0; k < length; ++k, in += inner, out += inner) {
    for (std::int64_t i = 0; i < inner; ++i) {
      scan_step<product>(totals[std::size_t(i)], in[i]);
      out[i] = T(totals[std::size_t(i)]);
    }
  }
}

// The product of a row, in eight lanes that are multiplied in pairs at the end.
template <typename T>
Sum<T> product_of_row(const T* in, std::int64_t length) {
  constexpr int kLanes = 8;
  Sum<T> lanes[kLanes];
  std::fill(lanes, lanes + kLanes, Sum<T>(1));
  std::int64_t k = 0;
  for (; k + kLanes <= length; k += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] *= Sum<T>(in[k + lane]);
  }
  for (; k < length; ++k) lanes[k % kLanes] *= Sum<T>(in[k]);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) lanes[lane] *= lanes[lane + width];
  }
  return lanes[0];
}

template <typename T>
void multiply_line(const T* in, T* out, std::int64_t length, std::int64_t inner) {
  if (inner == 1) {
    *out = T(product_of_row(in, length));
    return;
  }
  std::vector<Sum<T>> totals(std::size_t(inner), Sum<T>(1));
  for (std::int64_t k = 0; k < length; ++k, in += inner) {
    for (std::int64_t i = 0; i < inner; ++i) totals[std::size_t(i)] *= Sum<T>(in[i]);
  }
  for (std::int64_t i = 0; i < inner; ++i) out[i] = T(totals[std::size_t(i)]);
}

template <bool product>
Tensor scan(const char* op, const Tensor& self, std::int64_t dim, MaybeDType dtype) {
  const DType wanted = result_dtype(op, self, dtype);
  const Line line(op, self, dim);
  if (is_meta(self)) return empty_beside(self, self.sizes(), wanted);
  const Tensor from = prepared_scan(op, self, wanted);
  Tensor result = Tensor::empty(self.sizes(), from.dtype());
  visit_carried(from.dtype(), [&](auto sample) {
    using T = decltype(sample);
    const T* const in = elements_of<const T>(from);
    T* const out = elements_of<T>(result);
    without_gil_for(result.numel(), [&] {
      const std::int64_t step = line.length * line.inner;
      for (std::int64_t i = 0; i < line.outer; ++i) {
        scan_line<product>(in + i * step, out + i * step, line.length, line.inner);
      }
    });
  });
  return converted(op, result, wanted);
}
Tensor cumsum(const Tensor& self, std::int64_t dim, MaybeDType dtype) {
  return scan<false>("aten::cumsum", self, dim, dtype);
}
Tensor cumprod(const Tensor& self, std::int64_t dim, MaybeDType dtype) {
  return scan<true>("aten::cumprod", self, dim, dtype);
}

Tensor product_of(const char* op, const Tensor& self, const Line& line, IntSpan sizes,
                  MaybeDType dtype) {
  const DType wanted = result_dtype(op, self, dtype);
  if (is_meta(self)) return empty_beside(self, sizes, wanted);
  const Tensor from = prepared_scan(op, self, wanted);
  Tensor result = Tensor::empty(sizes, from.dtype());
  visit_carried(from.dtype(), [&](auto sample) {
    using T = decltype(sample);
    const T* const in = elements_of<const T>(from);
    T* const out = elements_of<T>(result);
    without_gil_for(from.numel(), [&] {
      for (std::int64_t i = 0; i < line.outer; ++i) {
        multiply_line(in + i * line.length * line.inner, out + i * line.inner, line.length,
                      line.inner);
      }
    });
  });
  return converted(op, result, wanted);
}
Tensor prod(const Tensor& self, MaybeDType dtype) {
  constexpr const char* kOp = "aten::prod";
  require_cpu(kOp, "self", self);
  Line line(kOp, self, 0);
  line.outer = line.inner = 1;
  line.length = self.numel();
  return product_of(kOp, self, line, {}, dtype);
}
Tensor prod_dim(const Tensor& self, std::int64_t dim, bool keepdim, MaybeDType dtype) {
  constexpr const char* kOp = "aten::prod.dim_int";
  require_cpu(kOp, "self", self);
  const Line line(kOp, self, dim);
  const std::int64_t at = wrap_dim(kOp, dim, self.dim());
  DimVector sizes;
  for (std::int64_t i = 0; i < self.dim(); ++i) {
    if (i != at) sizes.push_back(self.sizes()[std::size_t(i)]);
    if (i == at && keepdim) sizes.push_back(1);
  }
  return product_of(kOp, self, line, sizes, dtype);
}

using namespace ops;

// The products of all elements of the last dimension but one, for each. The matrix of them is as
// large as the square of the dimension, so it is made only if the shorter way divides by zero.
Tensor products_without(const Tensor& self) {
  const std::int64_t count = self.size(-1);
  const Tensor places = arange(self, count);
  DimVector sizes(self.sizes());
  sizes.push_back(count);
  const Tensor diagonal = equals(ops::unsqueeze(places, 0), ops::unsqueeze(places, 1));
  const Tensor all = masked(ops::expand(ops::unsqueeze(self, -2), sizes), diagonal, 1);
  using Prod = Tensor(const Tensor&, std::int64_t, bool, MaybeDType);
  static constinit FoundOperator<Prod> op("aten::prod.dim_int");
  return op.call(all, -1, false, std::nullopt);
}
// The running products of the last dimension without its k-th element, in row k, from there on.
Tensor running_products_without(const Tensor& self) {
  const std::int64_t count = self.size(-1);
  const Tensor places = arange(self, count);
  DimVector sizes(self.sizes());
  sizes.push_back(count);
  const Tensor behind = ops::unsqueeze(places, 0) - ops::unsqueeze(places, 1);
  const Tensor all = masked(ops::expand(ops::unsqueeze(self, -2), sizes), equals(behind, 0), 1);
  using Products = Tensor(const Tensor&, std::int64_t, MaybeDType);
  static constinit FoundOperator<Products> op("aten::cumprod");
  return masked(op.call(all, -1, std::nullopt), behind < 0, 0);
}
bool has_zero_element(const char* op, const char* argument, const Tensor& self) {
  if (is_meta(self)) return false;
  if (self.keys().has(DispatchKey::Python)) return true;  // may have, and its class knows
  if (is_complex(self.dtype())) {
    const Tensor is_zero = row_major(op, equals(self, 0));
    const bool* const all = elements_of<const bool>(is_zero);
    return std::find(all, all + is_zero.numel(), true) != all + is_zero.numel();
  }
  require_floats(op, argument, self);
  const Tensor flat = row_major(op, in_carrier(op, self));
  return visit_floats(flat, [&](auto sample) {
    using T = decltype(sample);
    const T* const in = elements_of<const T>(flat);
    const T* const end = in + flat.numel();
    bool found = false;
    without_gil_for(flat.numel(), [&] { found = std::find(in, end, T(0)) != end; });
    return found;
  });
}
// Of all elements if `dim` is None.
Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                     std::optional<std::int64_t> dim, bool keepdim) {
  constexpr const char* kOp = "opyard::prod_backward";
  if (self.dim() == 0) return grad * full(self, {}, 1, grad.dtype());
  if (!dim) {
    const std::array<std::int64_t, 1> all = {self.numel()};
    const Tensor row = reshape(self, all);
    if (!has_zero_element(kOp, "self", detach(self))) return grad * result / self;
    return reshape(grad * products_without(row), self.sizes());
  }
  const Tensor spread = keepdim ? grad : ops::unsqueeze(grad, *dim);
  if (!has_zero_element(kOp, "self", detach(self)))
    return spread * (keepdim ? result : ops::unsqueeze(result, *dim)) / self;
  return spread * ops::transpose(products_without(ops::transpose(self, *dim, -1)), *dim, -1);
}
Tensor cumsum_backward(const Tensor& grad, std::int64_t dim) {
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan)> flip("aten::flip");
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, MaybeDType)> sums(
      "aten::cumsum");
  if (grad.dim() == 0) return grad;
  const std::array dims = {dim};
  return flip.call(sums.call(flip.call(grad, dims), dim, std::nullopt), dims);
}
Tensor cumprod_backward(const Tensor& grad, const Tensor& self, std::int64_t dim,
                        const Tensor& result) {
  constexpr const char* kOp = "aten::cumprod_backward";
  require_broadcast(kOp, {{"grad", grad}, {"input", self}, {"output", result}});
  wrap_dim(kOp, dim, self.dim());
  if (self.dim() == 0) return grad;
  if (!has_zero_element(kOp, "input", detach(self))) {
    return cumsum_backward(grad * result, dim) / self;
  }
  const std::array<std::int64_t, 1> last = {-1};
  const Tensor without = running_products_without(ops::transpose(self, dim, -1));
  return ops::transpose(sum(ops::unsqueeze(ops::transpose(grad, dim, -1), -2) * without, last), dim,
                        -1);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m, {"cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
             "cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
             "prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
             "prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> "
             "Tensor",
             "cumprod_backward(Tensor grad, Tensor input, int dim, Tensor output) -> Tensor"});
  m.impl("cumprod_backward", &cumprod_backward);
  for (const char* name : {"cumsum", "cumprod"}) {
    define_in_place(m, name, Form::WithFormula);
    define_out(m, name, "out", Form::WithFormula);
  }
  define_out(m, "prod.dim_int", "int_out", Form::WithFormula);
  m.derivative("cumsum", {{"self", "cumsum_backward(grad, dim)"}});
  m.derivative("cumprod", {{"self", "cumprod_backward(grad, conj(self), dim, conj(result))"}});
  m.derivative("prod", {{"self", "prod_backward(grad, conj(self), conj(result), None, False)"}});
  m.derivative("prod.dim_int",
               {{"self", "prod_backward(grad, conj(self), conj(result), dim, keepdim)"}});
}

OPYARD_LIBRARY_FRAGMENT(opyard, m) {
  m.def("prod_backward(Tensor grad, Tensor self, Tensor result, int? dim, bool keepdim) -> Tensor",
        &prod_backward);
  m.def("cumsum_backward(Tensor grad, int dim) -> Tensor", &cumsum_backward);
}

OPYARD_KERNELS(m) {
  m.impl("cumsum", &cumsum);
  m.impl("cumprod", &cumprod);
  m.impl("prod", &prod);
  m.impl("prod.dim_int", &prod_dim);
}

}  // namespace opyard::kernels
