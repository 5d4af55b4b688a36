// kernels/gradients/linalg.cpp: gradients of determinants of singular matrices, of linalg_qr, linalg_lu
// and linalg_tensorinv; those of other functions of matrices are in kernels/operators/linalg.ops.
#include <opyard/keys/gradient_mode.h>
#include <opyard/library.h>
#include <opyard/registry/found_operator.h>

#include "common/check.h"
#include "common/ops.h"

namespace opyard::kernels {
namespace {

using namespace ops;
using Three = std::tuple<Tensor, Tensor, Tensor>;

Tensor adjoint_of(const Tensor& x) { return conj(ops::transpose(x, -2, -1)); }
Tensor solved(const Tensor& a, const Tensor& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&, bool)> op(
      "aten::linalg_solve");
  return op.call(a, b, true);
}
Tensor call_triangle(const Tensor& x, bool upper, std::int64_t diagonal) {
  static constinit FoundOperator<Tensor(const Tensor&, bool, std::int64_t)> op("opyard::triangle");
  return op.call(x, upper, diagonal);
}
Tensor on_diagonal(const Tensor& x) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("opyard::on_diagonal");
  return op.call(x);
}
Tensor main_diagonal(const Tensor& x) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, std::int64_t, std::int64_t)>
      op("aten::diagonal");
  return op.call(x, 0, -2, -1);
}
Tensor for_matrices(const Tensor& x) { return ops::unsqueeze(ops::unsqueeze(x, -1), -1); }

// [Singular] The gradient of a determinant is the adjugate, a polynomial in A. If A has no inverse,
// it is taken from the singular values, each left out of their product in turn. Where the gradient
// is differentiated again, it is the polynomial itself, whose coefficients are those of Faddeev and
// LeVerrier; with the size of A they lose digits.
constexpr std::int64_t kMostOfPolynomial = 16;

Tensor adjugate_by_values(const Tensor& a) {
  using Driver = std::optional<std::string_view>;
  static constinit FoundOperator<Three(const Tensor&, bool, Driver)> svd("aten::linalg_svd");
  static constinit FoundOperator<Tensor(const Tensor&)> det("aten::linalg_det");
  const auto [u, s, vh] = svd.call(a, true, std::nullopt);
  std::vector<Tensor> without;
  const std::int64_t size = a.size(-1);
  for (std::int64_t left_out = 0; left_out < size; ++left_out) {
    Tensor product = ops::select(s, -1, 0) * 0 + Scalar(1.0);
    for (std::int64_t i = 0; i < size; ++i) {
      if (i != left_out) product = product * ops::select(s, -1, i);
    }
    without.push_back(product);
  }
  const Tensor turned = for_matrices(det.call(u) * det.call(vh));
  const Tensor products = ops::unsqueeze(ops::stack(without, -1), -2);
  return turned * matmul(adjoint_of(vh) * products, adjoint_of(u));
}
Tensor adjugate_by_polynomial(const Tensor& a) {
  const std::int64_t size = a.size(-1);
  if (size > kMostOfPolynomial) {
    refuse(ErrorKind::Unsupported,
           {"aten::linalg_det: ", a, " has no inverse, and gradients of the gradient of its ",
            "determinant are computed for up to ", kMostOfPolynomial, " rows"});
  }
  const Tensor identity = on_diagonal(main_diagonal(a) * 0 + Scalar(1.0));
  Tensor sum = identity;
  for (std::int64_t k = 1; k < size; ++k) {
    const Tensor next = matmul(a, sum);
    const Tensor trace = ops::sum(main_diagonal(next), DimVector{-1}) * Scalar(-1.0 / double(k));
    sum = next + for_matrices(trace) * identity;
  }
  return size % 2 == 0 ? -sum : sum;
}
bool is_singular(const Tensor& x) {
  static constinit FoundOperator<Tensor(const Tensor&)> any("aten::any");
  static constinit FoundOperator<Scalar(const Tensor&)> item("aten::item");
  if (x.numel() == 0 || x.device().backend == Backend::Meta) return false;
  return item.call(any.call(equals(detach(x), 0))).to_bool();
}
Tensor singular_det_backward(const Tensor& grad, const Tensor& a) {
  const bool is_again = gradients_enabled();
  const Tensor adjugate = is_again ? adjugate_by_polynomial(a) : adjugate_by_values(a);
  return for_matrices(grad) * adjoint_of(adjugate);
}
Tensor det_backward(const Tensor& grad, const Tensor& a, const Tensor& result) {
  static constinit FoundOperator<Tensor(const Tensor&)> inverse("aten::linalg_inv");
  if (is_singular(result)) return singular_det_backward(grad, a);
  return for_matrices(grad * conj(result)) * adjoint_of(inverse.call(a));
}

Tensor qr_backward(const Tensor& grad_q, const Tensor& grad_r, const Tensor& q, const Tensor& r) {
  const std::int64_t rows = r.size(-2), columns = r.size(-1);
  if (q.numel() == 0 || q.size(-1) != rows || columns < rows) {
    refuse(ErrorKind::Unsupported,
           {"aten::linalg_qr: Q is ", q, " and R is ", r,
            "; the gradient is of the reduced form, and of the complete one of matrices with as "
            "many columns as rows or more"});
  }
  if (columns > rows) {  // Q is of the first columns alone, and R2 = Q^H A2
    const auto part = [&](const Tensor& x, bool first) {
      return ops::narrow(x, -1, first ? 0 : rows, first ? rows : columns - rows);
    };
    const Tensor second = matmul(q, part(r, false)), grad_second = part(grad_r, false);
    const Tensor through = grad_q + matmul(second, adjoint_of(grad_second));
    const Tensor first = qr_backward(through, part(grad_r, true), q, part(r, true));
    return cat({first, matmul(q, grad_second)}, -1);
  }
  const Tensor sides = matmul(grad_r, adjoint_of(r)) - matmul(adjoint_of(q), grad_q);
  const Tensor part = call_triangle(sides, true, 0);
  const Tensor whole = part + adjoint_of(part) - on_diagonal(real(main_diagonal(part)));
  return adjoint_of(solved(r, adjoint_of(grad_q + matmul(q, whole))));
}

// A = P L U. Of what is beside the square part, L or U alone has rows or columns.
Tensor lu_backward(const Tensor& grad_l, const Tensor& grad_u, const Tensor& p, const Tensor& l,
                   const Tensor& u) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&, bool, bool, bool)> solve(
      "aten::linalg_solve_triangular");
  const std::int64_t rows = l.size(-2), columns = u.size(-1), size = l.size(-1);
  const auto top = [&](const Tensor& x) { return ops::narrow(x, -2, 0, size); };
  const auto left = [&](const Tensor& x) { return ops::narrow(x, -1, 0, size); };
  const Tensor l1 = top(l), u1 = left(u);
  const auto by_l = [&](const Tensor& x) {
    return solve.call(adjoint_of(l1), x, true, true, true);
  };
  const auto by_u = [&](const Tensor& x) {
    return solve.call(adjoint_of(u1), x, false, false, false);
  };
  const auto right = [&](const Tensor& x) { return ops::narrow(x, -1, size, columns - size); };
  const auto below = [&](const Tensor& x) { return ops::narrow(x, -2, size, rows - size); };
  // What is beside the square part changes with L, or with U, too.
  Tensor of_l = matmul(adjoint_of(l1), top(grad_l)), of_u = matmul(left(grad_u), adjoint_of(u1));
  if (columns > size) of_l = of_l - matmul(right(grad_u), adjoint_of(right(u)));
  if (rows > size) of_u = of_u - matmul(adjoint_of(below(l)), below(grad_l));
  Tensor whole = by_l(by_u(call_triangle(of_l, false, -1) + call_triangle(of_u, true, 0)));
  if (columns > size) whole = cat({whole, by_l(right(grad_u))}, -1);
  if (rows > size) whole = cat({whole, by_u(below(grad_l))}, -2);
  return matmul(p, whole);
}

// The inverse of a matrix whose rows and columns are several dimensions each.
Tensor tensorinv_backward(const Tensor& grad, const Tensor& result, IntSpan sizes,
                          std::int64_t ind) {
  std::int64_t rows = 1;
  for (std::int64_t i = 0; i < ind && i < std::int64_t(sizes.size()); ++i) {
    rows *= sizes[std::size_t(i)];
  }
  const DimVector matrix{rows == 0 ? 0 : result.numel() / rows, rows};
  const Tensor turned = adjoint_of(ops::reshape(result, matrix));
  return ops::reshape(-matmul(turned, matmul(ops::reshape(grad, matrix), turned)), sizes);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(opyard, m) {
  m.def("det_backward(Tensor grad, Tensor A, Tensor result) -> Tensor", &det_backward);
  m.def("lu_backward(Tensor grad_l, Tensor grad_u, Tensor p, Tensor l, Tensor u) -> Tensor",
        &lu_backward);
  m.def("tensorinv_backward(Tensor grad, Tensor result, int[] sizes, int ind) -> Tensor",
        &tensorinv_backward);
  m.def("qr_backward(Tensor grad_q, Tensor grad_r, Tensor q, Tensor r) -> Tensor", &qr_backward);
}

}  // namespace opyard::kernels
