// kernels/composition/diagonals.cpp: operators on diagonals:
// trace, diag, diagflat and diag_embed.
#include <algorithm>
#include <cstdlib>

#include "common/check.h"
#include "common/define.h"
#include "common/ops.h"

namespace opyard::kernels {
namespace {

using namespace ops;

Tensor diagonal_of(const Tensor& self, std::int64_t offset) {
  using Diagonal = Tensor(const Tensor&, std::int64_t, std::int64_t, std::int64_t);
  static constinit FoundOperator<Diagonal> op("aten::diagonal");
  return op.call(self, offset, 0, 1);
}

Tensor trace(const Tensor& self) {
  constexpr const char* kOp = "aten::trace";
  require_defined(kOp, "self", self);
  if (self.dim() != 2) {
    refuse(ErrorKind::BadShape, {kOp, ": self is ", self, "; a matrix is needed"});
  }
  return sum(diagonal_of(self, 0));
}

// Zeros whose diagonal along two dimensions, which are new, has the elements of the last one.
Tensor embedded(const char* op, const Tensor& self, std::int64_t offset, std::int64_t dim1,
                std::int64_t dim2) {
  using Embed = Tensor(const Tensor&, IntSpan, std::int64_t, std::int64_t, std::int64_t);
  static constinit FoundOperator<Embed> embed("aten::diagonal_backward");
  const std::int64_t a = wrap_dim(op, dim1, self.dim() + 1);
  const std::int64_t b = wrap_dim(op, dim2, self.dim() + 1);
  if (self.dim() == 0) {
    refuse(ErrorKind::BadShape, {op, ": self is ", self, "; a dimension is needed"});
  }
  if (a == b) {
    refuse(ErrorKind::BadValue, {op, ": dim1 is ", dim1, " and dim2 is ", dim2,
                                 ", the same dimension; accepted are two different ones"});
  }
  std::int64_t size = 0;
  if (offset == std::numeric_limits<std::int64_t>::min() ||
      __builtin_add_overflow(self.size(-1), std::abs(offset), &size)) {
    refuse(ErrorKind::BadShape, {op, ": offset is ", offset, " and self is ", self,
                                 "; the size of the diagonal's matrix must fit in 64 bits"});
  }
  DimVector sizes;
  std::size_t next = 0;
  for (std::int64_t i = 0; i < self.dim() + 1; ++i) {
    sizes.push_back(i == a || i == b ? size : self.sizes()[next++]);
  }
  require_sizes_of(op, "the result", sizes, self.dtype());
  return embed.call(self, sizes, offset, a, b);
}
Tensor diag_embed(const Tensor& self, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  require_defined("aten::diag_embed", "self", self);
  return embedded("aten::diag_embed", self, offset, dim1, dim2);
}

Tensor diag(const Tensor& self, std::int64_t diagonal) {
  constexpr const char* kOp = "aten::diag";
  require_defined(kOp, "self", self);
  if (self.dim() != 1 && self.dim() != 2) {
    refuse(ErrorKind::BadShape, {kOp, ": self is ", self, "; one or two dimensions are needed"});
  }
  return self.dim() == 1 ? embedded(kOp, self, diagonal, 0, 1) : clone(diagonal_of(self, diagonal));
}
Tensor diagflat(const Tensor& self, std::int64_t offset) {
  constexpr const char* kOp = "aten::diagflat";
  require_defined(kOp, "self", self);
  return embedded(kOp, reshape(self, std::array{self.numel()}), offset, 0, 1);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("trace(Tensor self) -> Tensor", &trace);
  m.def("diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor", &diag_embed);
  m.def("diag(Tensor self, int diagonal=0) -> Tensor", &diag);
  m.def("diagflat(Tensor self, int offset=0) -> Tensor", &diagflat);
}

}  // namespace opyard::kernels
