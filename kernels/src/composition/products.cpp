// kernels/composition/products.cpp: products of tensors other than those of two matrices: kron,
// inner, tensordot, vecdot, cross products, the powers of numbers in a matrix.
#include <algorithm>

#include "common/broadcast.h"
#include "common/check.h"
#include "common/define.h"
#include "common/dtypes.h"
#include "common/ops.h"
#include "common/options.h"
#include "common/walk.h"

namespace opyard::kernels {
namespace {

using namespace ops;

// Each dimension of self gets one behind it, and each of other one before it; the product of the
// two has both.
Tensor kron(const Tensor& self, const Tensor& other) {
  constexpr const char* kOp = "aten::kron";
  require_defined(kOp, "self", self);
  require_defined(kOp, "other", other);
  const std::int64_t count = std::max(self.dim(), other.dim());
  const auto size_of = [&](const Tensor& x, std::int64_t i) {
    const std::int64_t at = i - (count - x.dim());
    return at < 0 ? 1 : x.size(at);
  };
  DimVector left, right, all;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t a = size_of(self, i), b = size_of(other, i);
    left.push_back(a);
    left.push_back(1);
    right.push_back(1);
    right.push_back(b);
    std::int64_t size = 0;
    if (__builtin_mul_overflow(a, b, &size)) {
      refuse(ErrorKind::BadShape, {kOp, ": self is ", self, " and other is ", other,
                                   "; the products of their sizes must fit in 64 bits"});
    }
    all.push_back(size);
  }
  return reshape(reshape(self, left) * reshape(other, right), all);
}

// Each dimension of a list, counted from the front. Raises BadIndex.
DimVector wrapped(const char* op, const char* argument, const Tensor& x, IntSpan dims) {
  dim_flags(op, dims, x.dim());
  if (x.dim() == 0 && !dims.empty()) {
    refuse(ErrorKind::BadShape,
           {op, ": ", argument, " is ", x, "; it has no dimension to sum over"});
  }
  DimVector result;
  for (const std::int64_t dim : dims) result.push_back(wrap_dim(op, dim, x.dim()));
  return result;
}
// The dimensions that a list does not name.
DimVector others(const DimVector& dims, std::int64_t count) {
  DimVector result;
  for (std::int64_t i = 0; i < count; ++i) {
    if (std::ranges::find(dims, i) == dims.end()) result.push_back(i);
  }
  return result;
}
DimVector sizes_at(const Tensor& x, const DimVector& dims) {
  DimVector result;
  for (const std::int64_t dim : dims) result.push_back(x.size(dim));
  return result;
}
DimVector concatenated_sizes(const DimVector& first, const DimVector& second) {
  DimVector result(first);
  for (const std::int64_t each : second) result.push_back(each);
  return result;
}

// A dimension of size 1 meets one of any size, which is summed first. The product of matrices whose
// rows are what remains of self, and whose columns are what remains of other.
Tensor contracted(const char* op, const Tensor& self, const Tensor& other, const DimVector& dims,
                  const DimVector& other_dims) {
  Tensor a = self, b = other;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t own = self.size(dims[i]), its = other.size(other_dims[i]);
    if (own == its) continue;
    if (own != 1 && its != 1) {
      refuse(ErrorKind::BadShape,
             {op, ": self is ", self, " and other is ", other, ", and their dimensions ", dims[i],
              " and ", other_dims[i], " are multiplied; both need one size, or one of them 1"});
    }
    if (its == 1) a = to(sum(a, std::array{dims[i]}, true), self.dtype());
    if (own == 1) b = to(sum(b, std::array{other_dims[i]}, true), self.dtype());
  }
  const DimVector rows = others(dims, a.dim()), columns = others(other_dims, b.dim());
  const DimVector result = concatenated_sizes(sizes_at(a, rows), sizes_at(b, columns));
  const std::int64_t inner = count_elements(sizes_at(a, dims));
  const std::array left = {count_elements(sizes_at(a, rows)), inner};
  const std::array right = {inner, count_elements(sizes_at(b, columns))};
  return reshape(mm(reshape(ops::permute(a, concatenated_sizes(rows, dims)), left),
                    reshape(ops::permute(b, concatenated_sizes(other_dims, columns)), right)),
                 result);
}
Tensor tensordot(const Tensor& self, const Tensor& other, IntSpan dims_self, IntSpan dims_other) {
  constexpr const char* kOp = "aten::tensordot";
  require_one_dtype(kOp, "self", self, "other", other);
  if (dims_self.size() != dims_other.size()) {
    refuse(ErrorKind::BadValue, {kOp, ": dims_self are ", dims_self, " and dims_other are ",
                                 dims_other, "; as many of each are needed"});
  }
  return contracted(kOp, self, other, wrapped(kOp, "self", self, dims_self),
                    wrapped(kOp, "other", other, dims_other));
}
Tensor inner(const Tensor& self, const Tensor& other) {
  constexpr const char* kOp = "aten::inner";
  require_one_dtype(kOp, "self", self, "other", other);
  if (self.dim() == 0 || other.dim() == 0) return self * other;
  if (self.size(-1) != other.size(-1)) {
    refuse(ErrorKind::BadShape, {kOp, ": self is ", self, " and other is ", other,
                                 "; the sizes of their last dimensions must be equal"});
  }
  return contracted(kOp, self, other, {self.dim() - 1}, {other.dim() - 1});
}

Tensor vecdot(const Tensor& x, const Tensor& y, std::int64_t dim) {
  constexpr const char* kOp = "aten::linalg_vecdot";
  require_one_dtype(kOp, "x", x, "y", y);
  if (category_of(x.dtype()) < 2) {
    refuse(ErrorKind::BadArgument, {kOp, ": x is ", x,
                                    "; a float or complex numbers are needed, to which "
                                    "aten::to.dtype converts"});
  }
  const std::int64_t at = wrap_dim(kOp, dim, std::max(x.dim(), y.dim()));
  require_broadcast(kOp, {{"x", x}, {"y", y}});
  return sum(conj(x) * y, std::array{at});
}

// The three elements along a dimension, which begin with the one at `first`.
Tensor turned(const Tensor& x, std::int64_t dim, std::int64_t first) {
  return cat({ops::narrow(x, dim, first, 3 - first), ops::narrow(x, dim, 0, first)}, dim);
}
Tensor crossed(const char* op, const Tensor& self, const Tensor& other, std::int64_t dim) {
  if (self.dim() != other.dim()) {
    refuse(ErrorKind::BadShape,
           {op, ": self is ", self, " and other is ", other, "; both need as many dimensions"});
  }
  const std::int64_t at = wrap_dim(op, dim, self.dim());
  if (self.dim() == 0 || self.size(at) != 3 || other.size(at) != 3) {
    refuse(ErrorKind::BadShape, {op, ": self is ", self, " and other is ", other, "; dimension ",
                                 dim, " of both must have 3 elements"});
  }
  require_broadcast(op, {{"self", self}, {"other", other}});
  return contiguous(turned(self, at, 1) * turned(other, at, 2) -
                    turned(self, at, 2) * turned(other, at, 1));
}
Tensor linalg_cross(const Tensor& self, const Tensor& other, std::int64_t dim) {
  constexpr const char* kOp = "aten::linalg_cross";
  require_defined(kOp, "self", self);
  require_defined(kOp, "other", other);
  return crossed(kOp, self, other, dim);
}
Tensor cross(const Tensor& self, const Tensor& other, std::optional<std::int64_t> dim) {
  constexpr const char* kOp = "aten::cross";
  require_defined(kOp, "self", self);
  require_defined(kOp, "other", other);
  if (dim) return crossed(kOp, self, other, *dim);
  for (std::int64_t i = 0; i < self.dim(); ++i) {
    if (self.size(i) == 3) return crossed(kOp, self, other, i);
  }
  refuse(ErrorKind::BadShape, {kOp, ": self is ", self, "; a dimension with 3 elements is needed"});
}

// The powers from 0 to count - 1 of each number, along a new last dimension.
Tensor powers(const char* op, const Tensor& numbers, std::int64_t count) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, MaybeDType)> products(
      "aten::cumprod");
  const Tensor x = to(numbers, promote(numbers.dtype(), DType::Int64));
  DimVector sizes(x.sizes());
  sizes.push_back(count);
  require_sizes_of(op, "the result", sizes, x.dtype());
  sizes.back() = std::min<std::int64_t>(count, 1);
  const Tensor ones = full(x, sizes, 1);
  if (count < 2) return ones;
  sizes.back() = count - 1;
  return cat({ones, products.call(ops::expand(ops::unsqueeze(x, -1), sizes), -1, std::nullopt)},
             -1);
}
Tensor vander(const Tensor& x, std::optional<std::int64_t> count, bool increasing) {
  constexpr const char* kOp = "aten::vander";
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan)> flip("aten::flip");
  require_defined(kOp, "x", x);
  if (x.dim() != 1) {
    refuse(ErrorKind::BadShape, {kOp, ": x is ", x, "; one dimension is needed"});
  }
  if (count.value_or(0) < 0) {
    refuse(ErrorKind::BadValue, {kOp, ": N is ", *count, "; accepted are 0 and more"});
  }
  const Tensor result = powers(kOp, x, count.value_or(x.numel()));
  return increasing ? result : flip.call(result, std::array<std::int64_t, 1>{1});
}
Tensor linalg_vander(const Tensor& x, std::optional<std::int64_t> count) {
  constexpr const char* kOp = "aten::linalg_vander";
  require_defined(kOp, "x", x);
  if (x.dim() == 0) {
    refuse(ErrorKind::BadShape, {kOp, ": x is ", x, "; a dimension is needed"});
  }
  const std::int64_t columns = count ? *count : x.size(-1);
  if (columns < 2) {
    refuse(ErrorKind::BadValue,
           {kOp, ": N is ", columns, count ? "" : ", the size of the last dimension of x",
            "; accepted are 2 and more"});
  }
  return powers(kOp, x, columns);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("kron(Tensor self, Tensor other) -> Tensor", &kron);
  m.def("inner(Tensor self, Tensor other) -> Tensor", &inner);
  m.def("tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor",
        &tensordot);
  m.def("linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", &vecdot);
  m.def("linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor", &linalg_cross);
  m.def("cross(Tensor self, Tensor other, int? dim=None) -> Tensor", &cross);
  m.def("vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", &vander);
  m.def("linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor", &linalg_vander);
}

}  // namespace opyard::kernels
