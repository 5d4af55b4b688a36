// kernels/matrix/batched.cpp: bmm, and operators made of it: products of as many matrices by as many.
//
// Both sides have one dtype, as nothing is promoted here; products of integers wrap.
#include <opyard/parallel.h>

#include <algorithm>

#include "common/broadcast.h"
#include "common/complex_parts.h"
#include "common/copy.h"
#include "common/define.h"
#include "common/dtypes.h"
#include "common/halves.h"
#include "common/kernels_block.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "common/releasing.h"
#include "common/symbolic_results.h"
#include "matrix/multiply.h"

namespace opyard::kernels {
namespace {

// Matrix i of a batch.
template <typename T>
Matrix<T> matrix_at(const Tensor& batch, std::int64_t i) {
  const IntSpan sizes = batch.sizes(), strides = batch.strides();
  return {elements_of<const T>(batch) + i * strides[0], sizes[1], sizes[2], strides[1], strides[2]};
}

// Work is cut into matrices, and large ones into rows; neither changes an element, since no part
// has so few rows that it would be computed in another way.
template <typename T>
void multiply_batches_of(const Tensor& result, const Tensor& a, const Tensor& b) {
  constexpr std::int64_t kRowsOfAPart = 192, kLeastRows = 4;
  const std::int64_t rows = a.sizes()[1], columns = b.sizes()[2];
  const std::int64_t whole = rows / kRowsOfAPart, rest = rows % kRowsOfAPart;
  const std::int64_t parts = whole + (rest >= kLeastRows || whole == 0 ? 1 : 0);
  const double one = double(std::min(rows, kRowsOfAPart)) * double(columns) * double(a.sizes()[2]);
  const auto grain = std::int64_t(double(kProductsOfAThread) / std::max(one, 1.0)) + 1;
  T* const out = elements_of<T>(result);
  parallel_for(0, a.sizes()[0] * parts, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      Matrix<T> left = matrix_at<T>(a, i / parts);
      const std::int64_t first = i % parts * kRowsOfAPart;
      left.data += first * left.row_stride;
      left.rows = i % parts + 1 == parts ? rows - first : kRowsOfAPart;
      multiply_add(out + (i / parts * rows + first) * columns, columns, left,
                   matrix_at<T>(b, i / parts));
    }
  });
}

// Each matrix of the first batch has as many columns as its own of the second has rows. Raises
// BadShape.
void require_batches(const char* op, const NamedTensor& first, const NamedTensor& second) {
  const Tensor &a = first.tensor, &b = second.tensor;
  if (has_symbolic_sizes(a) || has_symbolic_sizes(b)) {
    const SymIntSpan left = sym_sizes(a), right = sym_sizes(b);
    if (left.size() == 3 && right.size() == 3 && may_be_equal(left[0], right[0]) &&
        may_be_equal(left[2], right[1])) {
      return;
    }
  } else if (a.dim() == 3 && b.dim() == 3 && a.sizes()[0] == b.sizes()[0] &&
             a.sizes()[2] == b.sizes()[1]) {
    return;
  }
  refuse(ErrorKind::BadShape,
         {op, ": ", first.name, " is ", a, " and ", second.name, " is ", b,
          "; two batches of as many matrices are needed, where the first ones have as many "
          "columns as the second ones have rows"});
}

Tensor multiply_symbolic(const char* op, const Tensor& self, const Tensor& mat2) {
  const SymIntSpan a = sym_sizes(self), b = sym_sizes(mat2);
  return empty_on_meta(op, {a[0].is_symbolic() ? b[0] : a[0], a[1], b[2]}, self.dtype());
}

Tensor multiply_batch(const Tensor& self, const Tensor& mat2);

// (a + bi)(c + di) = (ac - bd) + (ad + bc)i, by four products of real matrices.
Tensor multiply_complex_batches(const Tensor& self, const Tensor& mat2) {
  const auto product = [&](std::int64_t i, std::int64_t k) {
    return multiply_batch(part_of(self, i), part_of(mat2, k));
  };
  const Tensor first = product(0, 0);
  Tensor result = Tensor::empty(first.sizes(), self.dtype());
  copy_elements("aten::bmm", part_of(result, 0), ops::operator-(first, product(1, 1)));
  copy_elements("aten::bmm", part_of(result, 1), ops::operator+(product(0, 1), product(1, 0)));
  return result;
}

Tensor multiply_batch(const Tensor& self, const Tensor& mat2) {
  constexpr const char* kOp = "aten::bmm";
  require_cpu(kOp, "self", self);
  require_dtype(kOp, "mat2", mat2, self.dtype());
  if (carrier_of(self.dtype()) != self.dtype()) {
    const DType carrier = carrier_of(self.dtype());
    const Tensor product =
        multiply_batch(converted(kOp, self, carrier), converted(kOp, mat2, carrier));
    return converted(kOp, product, self.dtype());
  }
  if (is_complex(self.dtype()) && !is_meta(self) && !is_meta(mat2)) {
    return multiply_complex_batches(self, mat2);
  }
  if (!is_complex(self.dtype())) require_numbers(kOp, "self", self);
  require_batches(kOp, {"self", self}, {"mat2", mat2});
  if (has_symbolic_sizes(self) || has_symbolic_sizes(mat2)) {
    return multiply_symbolic(kOp, self, mat2);
  }
  const std::array sizes = {self.sizes()[0], self.sizes()[1], mat2.sizes()[2]};
  Tensor result = empty_beside(is_meta(mat2) ? mat2 : self, sizes, self.dtype());
  if (is_meta(result)) return result;
  fill_elements(result, Number());
  if (result.numel() == 0 || self.numel() == 0) return result;
  visit_numbers(self, [&](auto sample) {
    using T = decltype(sample);
    const double products = double(result.numel()) * double(self.sizes()[2]);
    if (products < double(kReleasingProducts)) return multiply_batches_of<T>(result, self, mat2);
    without_gil([&] { multiply_batches_of<T>(result, self, mat2); });
  });
  return result;
}

using namespace ops;

bool is_number(const Scalar& scalar, double number) {
  return !scalar.is_complex() && scalar.to_double() == number;
}

// self * beta + product * alpha, where a beta of 0 ignores even nan.
Tensor weighted_sum(const Tensor& self, const Tensor& product, Scalar beta, Scalar alpha) {
  if (product.dtype() == DType::Bool) {  // whose numbers are bools, too
    beta = beta.to_bool();
    alpha = alpha.to_bool();
  } else if (is_integral(product.dtype())) {  // and those of integers integers
    beta = beta.to_int();
    alpha = alpha.to_int();
  }
  const Tensor scaled = is_number(alpha, 1) ? product : product * alpha;
  if (is_number(beta, 0)) return scaled;
  return scaled + (is_number(beta, 1) ? self : self * beta);
}

Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
               const Scalar& alpha) {
  constexpr const char* kOp = "aten::baddbmm";
  const auto [term, first, second] =
      promoted(kOp, {{"self", self}, {"batch1", batch1}, {"batch2", batch2}});
  require_batches(kOp, {"batch1", batch1}, {"batch2", batch2});
  return rounded_once(
      [&](const Tensor& added, const Tensor& a, const Tensor& b) {
        const Tensor product = bmm(a, b);
        require_expandable(kOp, {"self", self}, "the product", product.sizes());
        return weighted_sum(added, product, beta, alpha);
      },
      term, first, second);
}
Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
              const Scalar& alpha) {
  constexpr const char* kOp = "aten::addbmm";
  const std::array<std::int64_t, 1> batch = {0};
  const auto [term, first, second] =
      promoted(kOp, {{"self", self}, {"batch1", batch1}, {"batch2", batch2}});
  require_batches(kOp, {"batch1", batch1}, {"batch2", batch2});
  return rounded_once(
      [&](const Tensor& added, const Tensor& a, const Tensor& b) {
        const Tensor products = bmm(a, b);
        const Tensor product = to(sum(products, batch), products.dtype());  // a sum of ints: int64
        require_expandable(kOp, {"self", self}, "the product", product.sizes());
        return weighted_sum(added, product, beta, alpha);
      },
      term, first, second);
}
Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta,
             const Scalar& alpha) {
  constexpr const char* kOp = "aten::addmv";
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> mv("aten::mv");
  const auto [term, first, second] = promoted(kOp, {{"self", self}, {"mat", mat}, {"vec", vec}});
  if (mat.dim() != 2 || vec.dim() != 1 || !may_be_equal(sym_sizes(mat)[1], sym_sizes(vec)[0])) {
    refuse(ErrorKind::BadShape,
           {kOp, ": mat is ", mat, " and vec is ", vec,
            "; a matrix and a vector of as many elements as it has columns are needed"});
  }
  return rounded_once(
      [&](const Tensor& added, const Tensor& a, const Tensor& b) {
        const Tensor product = mv.call(a, b);
        require_expandable(kOp, {"self", self}, "the product", product.sizes());
        return weighted_sum(added, product, beta, alpha);
      },
      term, first, second);
}
Tensor outer_product(const char* op, const Tensor& self, const Tensor& vec2) {
  require_defined(op, "self", self);
  require_defined(op, "vec2", vec2);
  require_dims(op, "self", self, 1, 1);
  require_dims(op, "vec2", vec2, 1, 1);
  return ops::unsqueeze(self, 1) * vec2;
}
Tensor outer(const Tensor& self, const Tensor& vec2) {
  return outer_product("aten::outer", self, vec2);
}
Tensor ger(const Tensor& self, const Tensor& vec2) {
  return outer_product("aten::ger", self, vec2);
}
Tensor addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
            const Scalar& alpha) {
  constexpr const char* kOp = "aten::addr";
  const auto [term, first, second] =
      promoted(kOp, {{"self", self}, {"vec1", vec1}, {"vec2", vec2}});
  require_dims(kOp, "vec1", vec1, 1, 1);
  require_dims(kOp, "vec2", vec2, 1, 1);
  return rounded_once(
      [&](const Tensor& added, const Tensor& a, const Tensor& b) {
        const Tensor product = outer(a, b);
        require_expandable(kOp, {"self", self}, "the product", product.sizes());
        return weighted_sum(added, product, beta, alpha);
      },
      term, first, second);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m,
         {"bmm(Tensor self, Tensor mat2) -> Tensor",
          "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) "
          "-> Tensor",
          "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) "
          "-> Tensor",
          "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> "
          "Tensor",
          "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> "
          "Tensor",
          "outer(Tensor self, Tensor vec2) -> Tensor", "ger(Tensor self, Tensor vec2) -> Tensor"});
  m.impl("baddbmm", &baddbmm);
  m.impl("addbmm", &addbmm);
  m.impl("addmv", &addmv);
  m.impl("addr", &addr);
  m.impl("outer", &outer);
  m.impl("ger", &ger);
  define_out(m, "bmm", "out", Form::WithFormula);
  for (const char* name : {"baddbmm", "addbmm", "addmv", "addr"}) {
    define_in_place(m, name);
    define_out(m, name);
  }
  define_out(m, "outer");
  define_out(m, "ger");
  m.derivative("bmm", {{"self", "bmm(grad, transpose(conj(mat2), 1, 2))"},
                       {"mat2", "bmm(transpose(conj(self), 1, 2), grad)"}});
}

OPYARD_KERNELS(m) {
  name_build(m);
  m.impl("bmm", &multiply_batch);
}

}  // namespace opyard::kernels
