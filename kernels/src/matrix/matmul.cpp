// kernels/matrix/matmul.cpp: matmul, which picks among dot, mv and mm by the number of dimensions.
//
//   [k] x [k]           dot        [n, k] x [k]         mv
//   [k] x [k, m]        mm         [n, k] x [k, m]      mm
//   [..., n, k] x [k] or [k, m]    the leading dimensions are folded into rows
//
// Batches on the right side are not supported yet.
#include <opyard/library.h>

#include "common/check.h"

namespace opyard::kernels {
namespace {

using Two = Tensor(const Tensor&, const Tensor&);
using Sized = Tensor(const Tensor&, IntSpan);

Tensor mm(const Tensor& a, const Tensor& b) {
  static const auto op = require_operator("aten::mm").typed<Two>();
  return op.call(a, b);
}
Tensor mv(const Tensor& a, const Tensor& b) {
  static const auto op = require_operator("aten::mv").typed<Two>();
  return op.call(a, b);
}
Tensor dot(const Tensor& a, const Tensor& b) {
  static const auto op = require_operator("aten::dot").typed<Two>();
  return op.call(a, b);
}
Tensor reshape(const Tensor& a, IntSpan sizes) {
  static const auto op = require_operator("aten::reshape").typed<Sized>();
  return op.call(a, sizes);
}

Tensor matmul(const Tensor& self, const Tensor& other) {
  constexpr const char* kOp = "aten::matmul";
  require_defined(kOp, "self", self);
  require_defined(kOp, "other", other);
  const std::int64_t left = self.dim(), right = other.dim();
  if (left == 0 || right == 0) {
    refuse(ErrorKind::BadShape, {kOp, ": self is ", self, " and other is ", other,
                                 "; both need at least one dimension, and aten::mul.Tensor "
                                 "multiplies by a number"});
  }
  if (right > 2) {
    refuse(ErrorKind::Unsupported,
           {kOp, ": self is ", self, " and other is ", other,
            "; accepted for other are one and two dimensions, so multiply matrix by matrix"});
  }
  if (self.sizes()[std::size_t(left - 1)] != other.sizes()[0]) {
    refuse(ErrorKind::BadShape, {kOp, ": self is ", self, " and other is ", other,
                                 "; the last size of self must be the first size of other"});
  }
  if (left == 1) {
    if (right == 1) return dot(self, other);
    const std::array row = {std::int64_t{1}, self.sizes()[0]};
    return reshape(mm(reshape(self, row), other), std::array{other.sizes()[1]});
  }
  if (left == 2) return right == 1 ? mv(self, other) : mm(self, other);

  DimVector sizes(self.sizes());
  const std::int64_t columns = sizes.back();
  sizes.resize(sizes.size() - 1);
  const std::array folded = {count_elements(sizes), columns};
  const Tensor rows = reshape(self, folded);
  if (right == 1) return reshape(mv(rows, other), sizes);
  sizes.push_back(other.sizes()[1]);
  return reshape(mm(rows, other), sizes);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) { m.def("matmul(Tensor self, Tensor other) -> Tensor", &matmul); }

}  // namespace opyard::kernels
