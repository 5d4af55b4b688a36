// kernels/composition/fresh.cpp: new tensors beside others, and forms that traces of models hold:
// new_*, scalar_tensor, lift_fresh, _unsafe_view; logsumexp and norms of vectors.
#include <algorithm>
#include <cmath>
#include <limits>

#include "common/broadcast.h"
#include "common/define.h"
#include "common/dtypes.h"
#include "common/halves.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "common/options.h"
#include "common/symbolic.h"
#include "geometry/symbolic_calls.h"

namespace opyard::kernels {
namespace {

using namespace ops;

Tensor new_filled(const char* op, const Tensor& self, IntSpan size, const Scalar& fill_value,
                  MaybeDType dtype, MaybeLayout layout, MaybeDevice device, MaybeBool pin_memory) {
  using Full = Tensor(IntSpan, const Scalar&, MaybeDType, MaybeLayout, MaybeDevice, MaybeBool);
  static constinit FoundOperator<Full> full("aten::full");
  require_defined(op, "self", self);
  return named(op, "aten::full", [&] {
    return full.call(size, fill_value, dtype.value_or(self.dtype()), layout,
                     device.value_or(self.device()), pin_memory);
  });
}
Tensor new_full(const Tensor& self, IntSpan size, const Scalar& fill_value, MaybeDType dtype,
                MaybeLayout layout, MaybeDevice device, MaybeBool pin_memory) {
  return new_filled("aten::new_full", self, size, fill_value, dtype, layout, device, pin_memory);
}
Tensor new_zeros(const Tensor& self, IntSpan size, MaybeDType dtype, MaybeLayout layout,
                 MaybeDevice device, MaybeBool pin_memory) {
  return new_filled("aten::new_zeros", self, size, false, dtype, layout, device, pin_memory);
}
Tensor new_ones(const Tensor& self, IntSpan size, MaybeDType dtype, MaybeLayout layout,
                MaybeDevice device, MaybeBool pin_memory) {
  return new_filled("aten::new_ones", self, size, true, dtype, layout, device, pin_memory);
}
Tensor new_empty(const Tensor& self, IntSpan size, MaybeDType dtype, MaybeLayout layout,
                 MaybeDevice device, MaybeBool pin_memory) {
  using Empty =
      Tensor(IntSpan, MaybeDType, MaybeLayout, MaybeDevice, MaybeBool, std::optional<MemoryFormat>);
  static constinit FoundOperator<Empty> op("aten::empty.memory_format");
  require_defined("aten::new_empty", "self", self);
  return named("aten::new_empty", "aten::empty.memory_format", [&] {
    return op.call(size, dtype.value_or(self.dtype()), layout, device.value_or(self.device()),
                   pin_memory, std::nullopt);
  });
}
using EmptyStrided = Tensor(IntSpan, IntSpan, MaybeDType, MaybeLayout, MaybeDevice, MaybeBool);
// The dimensions in the order of their strides, the largest first.
Tensor empty_permuted(IntSpan size, IntSpan physical_layout, MaybeDType dtype, MaybeLayout layout,
                      MaybeDevice device, MaybeBool pin_memory) {
  constexpr const char* kOp = "aten::empty_permuted";
  static constinit FoundOperator<EmptyStrided> op("aten::empty_strided");
  const auto count = std::int64_t(size.size());
  require_sizes_of(kOp, "size", size, dtype.value_or(kDefaultFloat));
  bool fits = physical_layout.size() == size.size();
  for (const std::int64_t dim : physical_layout) fits = fits && dim >= 0 && dim < count;
  if (!fits) {
    refuse(ErrorKind::BadValue,
           {kOp, ": size is ", size, " and physical_layout is ", physical_layout,
            "; each dimension is to be named once, counted from the front"});
  }
  dim_flags(kOp, physical_layout, count);
  DimVector strides(size);
  std::int64_t step = 1;
  for (std::size_t i = size.size(); i-- > 0;) {
    const auto dim = std::size_t(physical_layout[i]);
    strides[dim] = step;
    step *= std::max<std::int64_t>(size[dim], 1);
  }
  return op.call(size, strides, dtype, layout, device, pin_memory);
}
Tensor new_empty_strided(const Tensor& self, IntSpan size, IntSpan stride, MaybeDType dtype,
                         MaybeLayout layout, MaybeDevice device, MaybeBool pin_memory) {
  static constinit FoundOperator<EmptyStrided> op("aten::empty_strided");
  require_defined("aten::new_empty_strided", "self", self);
  return op.call(size, stride, dtype.value_or(self.dtype()), layout, device.value_or(self.device()),
                 pin_memory);
}
Tensor scalar_tensor(const Scalar& s, MaybeDType dtype, MaybeLayout layout, MaybeDevice device,
                     MaybeBool pin_memory) {
  using Full = Tensor(IntSpan, const Scalar&, MaybeDType, MaybeLayout, MaybeDevice, MaybeBool);
  static constinit FoundOperator<Full> op("aten::full");
  return op.call({}, s, dtype.value_or(kDefaultFloat), layout, device, pin_memory);
}

Tensor lift_fresh(const Tensor& self) { return self; }
Tensor unsafe_view(const Tensor& self, IntSpan size) {
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan)> op("aten::view");
  return named("aten::_unsafe_view", "aten::view", [&] { return op.call(self, size); });
}
Tensor type_as(const Tensor& self, const Tensor& other) { return to(self, other.dtype()); }

DimVector all_or(const char* op, const Tensor& self, MaybeDims dims) {
  require_defined(op, "self", self);
  DimVector result(dims.value_or(IntSpan()));
  if (result.empty()) {
    for (std::int64_t i = 0; i < self.dim(); ++i) result.push_back(i);
  }
  return result;
}
Tensor extremes(bool largest, const Tensor& self, IntSpan dims, bool keepdim) {
  using Extreme = Tensor(const Tensor&, IntSpan, bool);
  static constinit FoundOperator<Extreme> amax("aten::amax");
  static constinit FoundOperator<Extreme> amin("aten::amin");
  return largest ? amax.call(self, dims, keepdim) : amin.call(self, dims, keepdim);
}

// The largest is taken off first, unless it is infinite; of complex numbers the largest real part.
Tensor logsumexp(const Tensor& self, IntSpan dim, bool keepdim) {
  require_defined("aten::logsumexp", "self", self);
  dim_flags("aten::logsumexp", dim, self.dim());
  const bool is_of_complex = is_complex(self.dtype());
  const bool is_of_floats = is_of_complex || is_floating_point(self.dtype());
  const Tensor x = is_of_floats ? self : to(self, kDefaultFloat);
  if (x.numel() == 0) return log(sum(exp(x), dim, keepdim));
  const Tensor sizes = is_of_complex ? real(detach(x)) : detach(x);
  const Tensor top = extremes(true, sizes, dim, true);
  const Tensor shift = masked(top, equals(abs(top), std::numeric_limits<double>::infinity()), 0);
  const Tensor total = log(sum(exp(x - shift), dim, true)) + shift;
  if (keepdim) return total;
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan)> squeeze_dims("aten::squeeze.dims");
  return squeeze_dims.call(total, all_or("aten::logsumexp", self, dim));
}

// Of all elements in a row without their squares in memory.
Tensor sum_of_squares(const Tensor& x, IntSpan dims, bool keepdim) {
  if (keepdim || has_symbolic_sizes(x) || dims.size() != x.sizes().size() || !x.is_contiguous())
    return sum(x * x, dims, keepdim);
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> dot("aten::dot");
  const Tensor row = reshape(x, DimVector({-1}));
  return dot.call(row, row);
}

// The root of a sum of powers. Powers below 2 have no slope at 0, or no second one; the gradients
// there are 0, as root() has them. One element that is 0 makes a norm of negative powers 0.
Tensor power_norm(const Tensor& x, double ord, IntSpan dims, bool keepdim) {
  if (ord >= 2 || x.numel() == 0) {
    const Tensor total = sum(pow(x, ord), dims, keepdim);
    return ord > 0 ? root(total, ord) : pow(total, 1 / ord);
  }
  const Tensor none = equals(detach(x), 0), powers = pow(masked(x, none, 1), ord);
  if (ord > 0) return root(sum(masked(powers, none, 0), dims, keepdim), ord);
  const Tensor least = extremes(false, detach(x), dims, keepdim);
  return masked(pow(sum(powers, dims, keepdim), 1 / ord), equals(least, 0), 0);
}

Tensor vector_norm(const char* op, const Tensor& self, double ord, MaybeDims dim, bool keepdim,
                   MaybeDType dtype) {
  const DimVector dims = all_or(op, self, dim);
  const Tensor x = dtype ? to(self, *dtype) : self;
  if (is_half(x)) {
    const Tensor norm = vector_norm(op, widened(x), ord, dim, keepdim, std::nullopt);
    return to(norm, x.dtype());
  }
  if (is_complex(x.dtype()) && ord == 2 &&
      x.dim() > 0) {  // which has slopes at zeros, as abs() has not
    const Tensor a = real(x), b = imag(x);
    return root(sum(a * a + b * b, dims, keepdim), 2);
  }
  if (is_complex(x.dtype())) return vector_norm(op, abs(x), ord, dim, keepdim, std::nullopt);
  if (!is_floating_point(x.dtype())) {
    refuse(ErrorKind::BadArgument,
           {op, ": self is ", x, "; a float is needed, to which aten::to.dtype converts"});
  }
  if (self.dim() == 0) return ord == 0 ? to(differs(x, 0), x.dtype()) : abs(x);
  if (ord == 2) return root(sum_of_squares(x, dims, keepdim), 2);
  if (std::isinf(ord)) return extremes(ord > 0, abs(x), dims, keepdim);
  if (ord == 0) return sum(to(differs(x, 0), x.dtype()), dims, keepdim);
  if (ord == 1) return sum(abs(x), dims, keepdim);
  return power_norm(abs(x), ord, dims, keepdim);
}
Tensor linalg_vector_norm(const Tensor& self, const Scalar& ord, MaybeDims dim, bool keepdim,
                          MaybeDType dtype) {
  return vector_norm("aten::linalg_vector_norm", self, ord.to_double(), dim, keepdim, dtype);
}
Tensor norm_all(const Tensor& self, const Scalar& p) {
  return vector_norm("aten::norm.Scalar", self, p.to_double(), std::nullopt, false, std::nullopt);
}
Tensor norm_dim(const Tensor& self, const std::optional<Scalar>& p, IntSpan dim, bool keepdim) {
  return vector_norm("aten::norm.ScalarOpt_dim", self, p ? p->to_double() : 2, dim, keepdim,
                     std::nullopt);
}

}  // namespace

#define OPYARD_OPTIONS \
  "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(
      m,
      {"new_full(Tensor self, SymInt[] size, Scalar fill_value, *, " OPYARD_OPTIONS ") -> Tensor",
       "new_zeros(Tensor self, SymInt[] size, *, " OPYARD_OPTIONS ") -> Tensor",
       "new_ones(Tensor self, SymInt[] size, *, " OPYARD_OPTIONS ") -> Tensor",
       "new_empty(Tensor self, SymInt[] size, *, " OPYARD_OPTIONS ") -> Tensor",
       "new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, " OPYARD_OPTIONS
       ") -> Tensor",
       "empty_permuted(SymInt[] size, int[] physical_layout, *, " OPYARD_OPTIONS ") -> Tensor",
       "scalar_tensor(Scalar s, *, " OPYARD_OPTIONS ") -> Tensor",
       "lift_fresh(Tensor(a) self) -> Tensor(a)",
       "_unsafe_view(Tensor self, SymInt[] size) -> Tensor",
       "type_as(Tensor self, Tensor other) -> Tensor",
       "logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
       "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, "
       "*, ScalarType? dtype=None) -> Tensor",
       "norm.Scalar(Tensor self, Scalar p=2) -> Tensor",
       "norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> "
       "Tensor"});
  m.impl("new_full", Kernel::with_symbolic<&new_full, &symbolic_new>());
  m.impl("new_zeros", Kernel::with_symbolic<&new_zeros, &symbolic_new>());
  m.impl("new_ones", Kernel::with_symbolic<&new_ones, &symbolic_new>());
  m.impl("new_empty", Kernel::with_symbolic<&new_empty, &symbolic_new>());
  m.impl("new_empty_strided", Kernel::with_symbolic<&new_empty_strided, &symbolic_new>());
  m.impl("empty_permuted", Kernel::with_symbolic<&empty_permuted, &symbolic_empty_permuted>());
  m.impl("scalar_tensor", &scalar_tensor);
  m.impl("lift_fresh", &lift_fresh);
  m.impl("_unsafe_view", Kernel::with_symbolic<&unsafe_view, &symbolic_reshape>());
  m.impl("type_as", &type_as);
  m.impl("logsumexp", &logsumexp);
  m.impl("linalg_vector_norm", &linalg_vector_norm);
  m.impl("norm.Scalar", &norm_all);
  m.impl("norm.ScalarOpt_dim", &norm_dim);
  define_out(m, "logsumexp");
  define_out(m, "linalg_vector_norm");
}
#undef OPYARD_OPTIONS

}  // namespace opyard::kernels
