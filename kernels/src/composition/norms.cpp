// kernels/composition/norms.cpp: norms of matrices, and linalg_norm, which is one of vectors or of
// matrices by its arguments.
#include <opyard/library.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "common/broadcast.h"
#include "common/check.h"
#include "common/ops.h"
#include "common/options.h"

namespace opyard::kernels {
namespace {

using namespace ops;

Tensor call_vector_norm(const char* name, const Tensor& self, const Scalar& ord, MaybeDims dim,
                        bool keepdim, MaybeDType dtype) {
  using Norm = Tensor(const Tensor&, const Scalar&, MaybeDims, bool, MaybeDType);
  static constinit FoundOperator<Norm> op("aten::linalg_vector_norm");
  return named(name, "aten::linalg_vector_norm",
               [&] { return op.call(self, ord, dim, keepdim, dtype); });
}
Tensor call_extreme(bool largest, const Tensor& x, std::int64_t dim, bool keepdim) {
  using Extreme = Tensor(const Tensor&, IntSpan, bool);
  static constinit FoundOperator<Extreme> amax("aten::amax");
  static constinit FoundOperator<Extreme> amin("aten::amin");
  return (largest ? amax : amin).call(x, std::array{dim}, keepdim);
}

struct MatrixNorm {
  const char* op;
  Tensor self;
  std::array<std::int64_t, 2> dims;  // rows, columns
  bool keepdim;

  MatrixNorm(const char* name, const Tensor& given, IntSpan dim, bool keep, MaybeDType dtype)
      : op(name), dims{}, keepdim(keep) {
    require_defined(op, "self", given);
    self = dtype ? to(given, *dtype) : given;
    require_inexact(op, "self", self);
    if (dim.size() != 2 || self.dim() < 2) {
      refuse(ErrorKind::BadShape, {op, ": self is ", self, " and dim is ", dim,
                                   "; a norm of matrices is of two dimensions"});
    }
    for (std::size_t i = 0; i < 2; ++i) dims[i] = wrap_dim(op, dim[i], self.dim());
    if (dims[0] == dims[1]) {
      refuse(ErrorKind::BadValue, {op, ": dim is ", dim, "; two different dimensions are needed"});
    }
  }

  // The singular values, in the last dimension.
  Tensor values() const {
    static constinit FoundOperator<Tensor(const Tensor&, std::optional<std::string_view>)> op_(
        "aten::linalg_svdvals");
    DimVector order;
    for (std::int64_t i = 0; i < self.dim(); ++i) {
      if (i != dims[0] && i != dims[1]) order.push_back(i);
    }
    order.push_back(dims[0]);
    order.push_back(dims[1]);
    return op_.call(ops::permute(self, order), std::nullopt);
  }
  // What is left of the dimensions of self, and those of the matrices with the size 1 if wanted.
  Tensor kept(Tensor result) const {
    if (!keepdim) return result;
    result = ops::unsqueeze(result, std::min(dims[0], dims[1]));
    return ops::unsqueeze(result, std::max(dims[0], dims[1]));
  }
  // The largest or the least sum of magnitudes along one of the dimensions.
  Tensor of_sums(std::int64_t along, std::int64_t other, bool largest) const {
    const Tensor sums = sum(abs(self), std::array{along}, true),
                 found = call_extreme(largest, sums, other, true);
    if (keepdim) return found;
    return squeeze(squeeze(found, std::max(along, other)), std::min(along, other));
  }

  Tensor by_number(double ord) const {
    if (std::abs(ord) == 1) return of_sums(dims[0], dims[1], ord > 0);
    if (std::isinf(ord)) return of_sums(dims[1], dims[0], ord > 0);
    if (std::abs(ord) == 2) return kept(call_extreme(ord > 0, values(), -1, false));
    refuse(ErrorKind::BadValue,
           {op, ": ord is ", ord, "; accepted are 1, -1, 2, -2, inf and -inf for matrices"});
  }
  Tensor by_name(std::string_view ord) const {
    if (ord == "fro") return call_vector_norm(op, self, 2, IntSpan(dims), keepdim, std::nullopt);
    if (ord == "nuc") return kept(sum(values(), std::array{std::int64_t{-1}}));
    refuse(ErrorKind::BadValue, {op, ": ord is \"", ord, "\"; accepted are \"fro\" and \"nuc\""});
  }
};

Tensor matrix_norm(const Tensor& self, const Scalar& ord, IntSpan dim, bool keepdim,
                   MaybeDType dtype) {
  constexpr const char* kOp = "aten::linalg_matrix_norm";
  require_real(kOp, "ord", ord);
  return MatrixNorm(kOp, self, dim, keepdim, dtype).by_number(ord.to_double());
}
Tensor matrix_norm_named(const Tensor& self, std::string_view ord, IntSpan dim, bool keepdim,
                         MaybeDType dtype) {
  constexpr const char* kOp = "aten::linalg_matrix_norm.str_ord";
  return MatrixNorm(kOp, self, dim, keepdim, dtype).by_name(ord);
}

constexpr std::int64_t kOfMatrix[] = {-2, -1};
Tensor norm(const Tensor& self, const std::optional<Scalar>& ord, MaybeDims dim, bool keepdim,
            MaybeDType dtype) {
  constexpr const char* kOp = "aten::linalg_norm";
  require_defined(kOp, "self", self);
  if (ord) require_real(kOp, "ord", *ord);
  const std::int64_t over = dim ? std::int64_t(dim->size()) : self.dim();
  if (!ord || over == 1) return call_vector_norm(kOp, self, ord.value_or(2), dim, keepdim, dtype);
  if (over != 2) {
    refuse(ErrorKind::BadShape, {kOp, ": self is ", self, " and dim names ", over,
                                 " dimensions; with an ord it is of one or two"});
  }
  return MatrixNorm(kOp, self, dim.value_or(kOfMatrix), keepdim, dtype).by_number(ord->to_double());
}
Tensor norm_named(const Tensor& self, std::string_view ord, MaybeDims dim, bool keepdim,
                  MaybeDType dtype) {
  constexpr const char* kOp = "aten::linalg_norm.ord_str";
  require_defined(kOp, "self", self);
  if (!dim && self.dim() != 2) {
    refuse(ErrorKind::BadShape, {kOp, ": self is ", self,
                                 "; without dim a matrix is needed for the norm \"", ord, "\""});
  }
  return MatrixNorm(kOp, self, dim.value_or(kOfMatrix), keepdim, dtype).by_name(ord);
}

}  // namespace

#define OPYARD_REST "bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"
OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, " OPYARD_REST, &norm);
  m.def("linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, " OPYARD_REST, &norm_named);
  m.def("linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], " OPYARD_REST,
        &matrix_norm);
  m.def("linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] dim=[-2, -1], " OPYARD_REST,
        &matrix_norm_named);
}
#undef OPYARD_REST

}  // namespace opyard::kernels
