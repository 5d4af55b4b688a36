// kernels/gradients/linalg.cpp: gradients of inverses, determinants, solutions and decompositions
// of matrices, which other libraries compute.
//
// The gradient of a real number L of a matrix A is G where dL = Re tr(G^H dA). Each is a
// composition, and so differentiable again. Those of decompositions are of what does not depend on
// the signs and phases that vectors may have, and of values that are apart: where two are one, the
// gradient of their vectors is infinite. The gradient of a matrix of which one triangle is read is
// symmetric.
#include <opyard/library.h>
#include <opyard/keys/gradient_mode.h>
#include <opyard/registry/found_operator.h>

#include <algorithm>
#include <complex>

#include "common/check.h"
#include "common/ops.h"
#include "common/options.h"

namespace opyard::kernels {
namespace {

using namespace ops;
using Three = std::tuple<Tensor, Tensor, Tensor>;

Tensor adjoint_of(const Tensor& x) { return conj(ops::transpose(x, -2, -1)); }
Tensor inverse(const Tensor& a) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::linalg_inv");
  return op.call(a);
}
Tensor solved(const Tensor& a, const Tensor& b, bool left = true) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&, bool)> op(
      "aten::linalg_solve");
  return op.call(a, b, left);
}
Tensor call_triangle(const Tensor& x, bool upper, std::int64_t diagonal) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t)> lower("aten::tril");
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t)> above("aten::triu");
  return upper ? above.call(x, diagonal) : lower.call(x, diagonal);
}
Tensor main_diagonal(const Tensor& x) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, std::int64_t, std::int64_t)>
      op("aten::diagonal");
  return op.call(x, 0, -2, -1);
}
Tensor on_diagonal(const Tensor& x) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, std::int64_t, std::int64_t)>
      op("aten::diag_embed");
  return op.call(x, 0, -2, -1);
}
Tensor off_diagonal(const Tensor& x) { return x - on_diagonal(main_diagonal(x)); }
Tensor for_matrices(const Tensor& x) { return ops::unsqueeze(ops::unsqueeze(x, -1), -1); }
Tensor summed_to(const Tensor& x, const Tensor& like) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> op("opyard::sum_to");
  return op.call(x, like);
}

Tensor inv_backward(const Tensor& grad, const Tensor& result) {
  const Tensor turned = adjoint_of(result);
  return -matmul(turned, matmul(grad, turned));
}
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
    Tensor product = select(s, -1, 0) * 0 + Scalar(1.0);
    for (std::int64_t i = 0; i < size; ++i) {
      if (i != left_out) product = product * select(s, -1, i);
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
bool has_zero(const Tensor& x) {
  static constinit FoundOperator<Tensor(const Tensor&)> any("aten::any");
  static constinit FoundOperator<Scalar(const Tensor&)> item("aten::item");
  if (x.numel() == 0 || x.device().backend == Backend::Meta) return false;
  return item.call(any.call(equals(detach(x), 0))).to_bool();
}
Tensor det_backward(const Tensor& grad, const Tensor& a, const Tensor& result) {
  if (!has_zero(result)) return for_matrices(grad * conj(result)) * adjoint_of(inverse(a));
  const bool is_again = gradients_enabled();
  const Tensor adjugate = is_again ? adjugate_by_polynomial(a) : adjugate_by_values(a);
  return for_matrices(grad) * adjoint_of(adjugate);
}
Tensor logdet_backward(const Tensor& grad, const Tensor& a) {
  return for_matrices(grad) * adjoint_of(inverse(a));
}
Tensor slogdet_backward(const Tensor& grad_sign, const Tensor& grad_size, const Tensor& a,
                        const Tensor& sign) {
  if (!is_complex(a.dtype())) return logdet_backward(grad_size, a);
  const Scalar i(std::complex<double>(0, 1));
  return logdet_backward(grad_size + imag(grad_sign * conj(sign)) * i, a);
}

// By the lower triangle with half of its diagonal, as the factor L changes within it.
Tensor cholesky_backward(const Tensor& grad, const Tensor& result, bool upper) {
  const Tensor l = upper ? adjoint_of(result) : result, of_l = upper ? adjoint_of(grad) : grad;
  const Tensor both = matmul(adjoint_of(l), of_l);
  const Tensor part = call_triangle(both, false, 0) - on_diagonal(main_diagonal(both)) * 0.5;
  const Tensor left = solved(adjoint_of(l), part);
  const Tensor whole = adjoint_of(solved(adjoint_of(l), adjoint_of(left)));
  return (whole + adjoint_of(whole)) * 0.5;
}
TwoTensors cholesky_solve_backward(const Tensor& grad, const Tensor& input2, const Tensor& result,
                                   bool upper) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&, bool)> op(
      "aten::cholesky_solve");
  const Tensor of_self = op.call(grad, input2, upper);
  const Tensor outer = matmul(of_self, adjoint_of(result)), both = outer + adjoint_of(outer);
  const Tensor of_factor = -(upper ? matmul(input2, both) : matmul(both, input2));
  return {of_self, call_triangle(of_factor, upper, 0)};
}

bool is_of_vectors(const Tensor& a, const Tensor& b) {
  return b.dim() == 1 || (a.dim() - 1 == b.dim() &&
                          std::ranges::equal(b.sizes(), a.sizes().first(std::size_t(b.dim()))));
}
TwoTensors solve_backward(const Tensor& grad, const Tensor& a, const Tensor& b,
                          const Tensor& result, bool left) {
  const bool of_vectors = is_of_vectors(a, b);
  const auto matrices = [&](const Tensor& x) { return of_vectors ? ops::unsqueeze(x, -1) : x; };
  const Tensor of_b = solved(adjoint_of(a), matrices(grad), left);
  const Tensor x = matrices(result);
  const Tensor of_a = -(left ? matmul(of_b, adjoint_of(x)) : matmul(adjoint_of(x), of_b));
  return {summed_to(of_a, a), summed_to(of_vectors ? squeeze(of_b, -1) : of_b, b)};
}
TwoTensors solve_triangular_backward(const Tensor& grad, const Tensor& a, const Tensor& b,
                                     const Tensor& result, bool upper, bool left,
                                     bool unitriangular) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&, bool, bool, bool)> op(
      "aten::linalg_solve_triangular");
  const Tensor of_b = op.call(adjoint_of(a), grad, !upper, left, unitriangular);
  const Tensor of_a = -(left ? matmul(of_b, adjoint_of(result)) : matmul(adjoint_of(result), of_b));
  const std::int64_t first = unitriangular ? 1 : 0;
  return {summed_to(call_triangle(of_a, upper, upper ? first : -first), a), summed_to(of_b, b)};
}

// x / (values of the columns - values of the rows) off the diagonal. What is 0 stays 0.
Tensor over_gaps(const Tensor& x, const Tensor& values) {
  const Tensor gaps = ops::unsqueeze(values, -2) - ops::unsqueeze(values, -1),
               apart = off_diagonal(x);
  return apart / masked(gaps, equals(detach(apart), 0), 1);
}
Tensor eigh_backward(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values,
                     const Tensor& vectors) {
  if (vectors.numel() == 0 && values.numel() != 0) {
    refuse(ErrorKind::BadValue,
           {"aten::_linalg_eigh: compute_v was False, and the gradient needs the vectors; call "
            "linalg_eigvalsh()"});
  }
  const Tensor turned = adjoint_of(vectors);
  const Tensor inner = on_diagonal(grad_values) + over_gaps(matmul(turned, grad_vectors), values);
  return matmul(vectors, matmul(inner, turned));
}
Tensor eigvalsh_backward(const Tensor& grad, const Tensor& self, std::string_view uplo) {
  static constinit FoundOperator<TwoTensors(const Tensor&, std::string_view)> op(
      "aten::linalg_eigh");
  const Tensor vectors = std::get<1>(op.call(self, uplo));
  return matmul(vectors * ops::unsqueeze(grad, -2), adjoint_of(vectors));
}

Tensor svd_backward(const Tensor& grad_u, const Tensor& grad_s, const Tensor& grad_vh,
                    const Tensor& u_given, const Tensor& s, const Tensor& vh_given) {
  if (u_given.numel() == 0 && s.numel() != 0) {
    refuse(ErrorKind::BadValue,
           {"aten::_linalg_svd: compute_uv was False, and the gradient needs the vectors; call "
            "linalg_svdvals()"});
  }
  const std::int64_t count = s.size(-1);
  const Tensor u = ops::narrow(u_given, -1, 0, count), vh = ops::narrow(vh_given, -2, 0, count);
  const Tensor of_u = ops::narrow(grad_u, -1, 0, count);
  const Tensor of_v = adjoint_of(ops::narrow(grad_vh, -2, 0, count)), v = adjoint_of(vh);
  const auto skew = [](const Tensor& x) { return x - adjoint_of(x); };
  const Tensor in_u = matmul(adjoint_of(u), of_u), in_v = matmul(vh, of_v), square = s * s;
  const Tensor by_row = ops::unsqueeze(s, -1), by_column = ops::unsqueeze(s, -2);
  Tensor inner = on_diagonal(grad_s) + over_gaps(skew(in_u), square) * by_column +
                 over_gaps(skew(in_v), square) * by_row;
  if (is_complex(u.dtype())) inner = inner + on_diagonal(main_diagonal(skew(in_u)) / (s * 2));
  Tensor result = matmul(u, matmul(inner, vh));
  if (u.size(-2) > count) {
    result = result + matmul((of_u - matmul(u, in_u)) / by_column, vh);
  }
  if (v.size(-2) > count) {
    result = result + matmul(u, adjoint_of((of_v - matmul(v, in_v)) / by_column));
  }
  return result;
}
Tensor svdvals_backward(const Tensor& grad, const Tensor& a) {
  using Driver = std::optional<std::string_view>;
  static constinit FoundOperator<Three(const Tensor&, bool, Driver)> op("aten::linalg_svd");
  const auto [u, s, vh] = op.call(a, false, std::nullopt);
  return matmul(u * ops::unsqueeze(grad, -2), vh);
}

// The three ways in which a change of A changes its pseudo-inverse P.
Tensor pinv_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  const Tensor p = adjoint_of(result), g = adjoint_of(grad);
  const Tensor beside = g - matmul(self, matmul(result, g));
  const Tensor above = g - matmul(matmul(g, result), self);
  return matmul(beside, matmul(result, p)) + matmul(matmul(p, result), above) -
         matmul(p, matmul(grad, p));
}
// The derivative of exp() is above the diagonal of that of a matrix of twice the size.
Tensor matrix_exp_backward(const Tensor& grad, const Tensor& self) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::linalg_matrix_exp");
  const Tensor turned = adjoint_of(self);
  const Tensor twice = cat({cat({turned, grad}, -1), cat({grad * 0, turned}, -1)}, -2);
  const std::int64_t size = self.size(-1);
  return ops::narrow(ops::narrow(op.call(twice), -2, 0, size), -1, size, size);
}

// Vectors have the length 1, and so a change along themselves is none.
Tensor eig_backward(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values,
                    const Tensor& vectors) {
  const Tensor turned = adjoint_of(vectors), along = matmul(turned, grad_vectors);
  const Tensor length = real(main_diagonal(along));
  const Tensor apart = along - matmul(turned, vectors) * ops::unsqueeze(length, -2);
  const Tensor inner = on_diagonal(grad_values) + over_gaps(apart, conj(values));
  return solved(turned, matmul(inner, turned));
}
Tensor eigvals_backward(const Tensor& grad, const Tensor& self) {
  static constinit FoundOperator<TwoTensors(const Tensor&)> op("aten::linalg_eig");
  const Tensor turned = adjoint_of(std::get<1>(op.call(self)));
  return solved(turned, ops::unsqueeze(grad, -1) * turned);
}

Tensor cholesky_inverse_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                                 bool upper) {
  const Tensor both = matmul(result, matmul(grad + adjoint_of(grad), result));
  return call_triangle(-(upper ? matmul(self, both) : matmul(both, self)), upper, 0);
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
  const auto by_l = [&](const Tensor& x) { return solve.call(adjoint_of(l1), x, true, true, true); };
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
  return ops::reshape(inv_backward(ops::reshape(grad, matrix), ops::reshape(result, matrix)),
                      sizes);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.derivative("linalg_inv", {{"A", "inv_backward(grad, result)"}});
  m.derivative("linalg_inv_ex", {{"A", "inv_backward(grad0, result0)"}});
  m.derivative("inverse", {{"self", "inv_backward(grad, result)"}});
  m.derivative("linalg_det", {{"A", "det_backward(grad, A, result)"}});
  m.derivative("det", {{"self", "det_backward(grad, self, result)"}});
  m.derivative("logdet", {{"self", "logdet_backward(grad, self)"}});
  m.derivative("linalg_slogdet", {{"A", "slogdet_backward(grad0, grad1, A, result0)"}});
  m.derivative("slogdet", {{"self", "slogdet_backward(grad0, grad1, self, result0)"}});
  m.derivative("linalg_cholesky", {{"self", "cholesky_backward(grad, result, upper)"}});
  m.derivative("linalg_cholesky_ex", {{"self", "cholesky_backward(grad0, result0, upper)"}});
  m.derivative("cholesky", {{"self", "cholesky_backward(grad, result, upper)"}});
  m.derivative("cholesky_solve",
               {{"self, input2", "cholesky_solve_backward(grad, input2, result, upper)"}});
  m.derivative("linalg_solve", {{"A, B", "solve_backward(grad, A, B, result, left)"}});
  m.derivative("linalg_solve_ex", {{"A, B", "solve_backward(grad0, A, B, result0, left)"}});
  m.derivative("linalg_solve_triangular",
               {{"self, B",
                 "solve_triangular_backward(grad, self, B, result, upper, left, unitriangular)"}});
  for (const char* name : {"linalg_eigh", "_linalg_eigh"})
    m.derivative(name, {{std::string_view(name).starts_with("_") ? "A" : "self",
                         "eigh_backward(grad0, grad1, result0, result1)"}});
  m.derivative("linalg_eigvalsh", {{"self", "eigvalsh_backward(grad, self, UPLO)"}});
  for (const char* name : {"linalg_svd", "_linalg_svd"})
    m.derivative(name, {{"A", "svd_backward(grad0, grad1, grad2, result0, result1, result2)"}});
  m.derivative("linalg_svdvals", {{"A", "svdvals_backward(grad, A)"}});
  m.derivative("linalg_qr", {{"A", "qr_backward(grad0, grad1, result0, result1)"}});
  for (const char* name :
       {"linalg_pinv", "linalg_pinv.atol_rtol_float", "linalg_pinv.atol_rtol_tensor"})
    m.derivative(name, {{"self", "pinv_backward(grad, self, result)"}});
  for (const char* name : {"linalg_matrix_exp", "matrix_exp"})
    m.derivative(name, {{"self", "matrix_exp_backward(grad, self)"}});
  m.derivative("linalg_eig", {{"self", "eig_backward(grad0, grad1, result0, result1)"}});
  for (const char* name : {"linalg_eigvals", "_linalg_eigvals"})
    m.derivative(name, {{"self", "eigvals_backward(grad, self)"}});
  m.derivative("cholesky_inverse",
               {{"self", "cholesky_inverse_backward(grad, self, result, upper)"}});
  m.derivative("qr", {{"self", "qr_backward(grad0, grad1, result0, result1)"}});
  m.derivative("linalg_lu", {{"A", "lu_backward(grad1, grad2, result0, result1, result2)"}});
  m.derivative("linalg_tensorinv",
               {{"self", "tensorinv_backward(grad, result, sizes(self), ind)"}});
}

OPYARD_LIBRARY_FRAGMENT(opyard, m) {
  m.def("inv_backward(Tensor grad, Tensor result) -> Tensor", &inv_backward);
  m.def("det_backward(Tensor grad, Tensor A, Tensor result) -> Tensor", &det_backward);
  m.def("logdet_backward(Tensor grad, Tensor A) -> Tensor", &logdet_backward);
  m.def("slogdet_backward(Tensor grad_sign, Tensor grad_size, Tensor A, Tensor sign) -> Tensor",
        &slogdet_backward);
  m.def("cholesky_backward(Tensor grad, Tensor result, bool upper) -> Tensor", &cholesky_backward);
  m.def(
      "cholesky_solve_backward(Tensor grad, Tensor input2, Tensor result, bool upper) -> (Tensor, "
      "Tensor)",
      &cholesky_solve_backward);
  m.def(
      "solve_backward(Tensor grad, Tensor A, Tensor B, Tensor result, bool left) -> (Tensor, "
      "Tensor)",
      &solve_backward);
  m.def(
      "solve_triangular_backward(Tensor grad, Tensor A, Tensor B, Tensor result, bool upper, bool "
      "left, bool unitriangular) -> (Tensor, Tensor)",
      &solve_triangular_backward);
  m.def(
      "eigh_backward(Tensor grad_values, Tensor grad_vectors, Tensor values, Tensor vectors) -> "
      "Tensor",
      &eigh_backward);
  m.def("eigvalsh_backward(Tensor grad, Tensor self, str uplo) -> Tensor", &eigvalsh_backward);
  m.def(
      "svd_backward(Tensor grad_u, Tensor grad_s, Tensor grad_vh, Tensor u, Tensor s, Tensor vh) "
      "-> Tensor",
      &svd_backward);
  m.def("svdvals_backward(Tensor grad, Tensor A) -> Tensor", &svdvals_backward);
  m.def("pinv_backward(Tensor grad, Tensor self, Tensor result) -> Tensor", &pinv_backward);
  m.def("matrix_exp_backward(Tensor grad, Tensor self) -> Tensor", &matrix_exp_backward);
  m.def(
      "eig_backward(Tensor grad_values, Tensor grad_vectors, Tensor values, Tensor vectors) -> "
      "Tensor",
      &eig_backward);
  m.def("eigvals_backward(Tensor grad, Tensor self) -> Tensor", &eigvals_backward);
  m.def("cholesky_inverse_backward(Tensor grad, Tensor self, Tensor result, bool upper) -> Tensor",
        &cholesky_inverse_backward);
  m.def("lu_backward(Tensor grad_l, Tensor grad_u, Tensor p, Tensor l, Tensor u) -> Tensor",
        &lu_backward);
  m.def("tensorinv_backward(Tensor grad, Tensor result, int[] sizes, int ind) -> Tensor",
        &tensorinv_backward);
  m.def("qr_backward(Tensor grad_q, Tensor grad_r, Tensor q, Tensor r) -> Tensor", &qr_backward);
}

}  // namespace opyard::kernels
