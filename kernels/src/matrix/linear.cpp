// kernels/matrix/linear.cpp: mm, addmm, mv, dot, on all dtypes but bool.
//
// Both sides have one dtype, as nothing is promoted here; products of integers wrap.
#include <opyard/library.h>
#include <opyard/parallel.h>

#include "common/broadcast.h"
#include "common/builds.h"
#include "common/complex_parts.h"
#include "common/copy.h"
#include "common/dtypes.h"
#include "common/kernels_block.h"
#include "common/releasing.h"
#include "common/symbolic_results.h"
#include "common/walk.h"
#include "common/write.h"
#include "loops/element.h"
#include "matrix/product.h"

namespace opyard::kernels {
namespace {

// Which tensors are multiplied, for checks and messages.
struct Factors {
  const char* op;
  const char* name_a;
  const Tensor& a;
  const char* name_b;
  const Tensor& b;
};

[[noreturn]] OPYARD_COLD void refuse_factors(const Factors& f, ErrorKind kind, const char* why) {
  refuse(kind, {f.op, ": ", f.name_a, " is ", f.a, " and ", f.name_b, " is ", f.b, "; ", why});
}

bool is_symbolic(const Factors& f) { return has_symbolic_sizes(f.a) || has_symbolic_sizes(f.b); }

// Whether the last size of one is the first of the other.
bool factors_fit(const Factors& f) {
  if (is_symbolic(f)) return may_be_equal(sym_sizes(f.a).back(), sym_sizes(f.b).front());
  return f.a.sizes().back() == f.b.sizes().front();
}

void require_factors(const Factors& f, std::int64_t dims_a, std::int64_t dims_b,
                     const char* shapes) {
  require_cpu(f.op, f.name_a, f.a);
  require_cpu(f.op, f.name_b, f.b);
  if (f.a.dtype() != f.b.dtype()) {
    refuse_factors(f, ErrorKind::BadArgument,
                   "both must have one dtype, to which aten::to.dtype converts");
  }
  if (f.a.dtype() == DType::Bool) {
    refuse_factors(f, ErrorKind::Unsupported, "accepted are integers, floats and complex numbers");
  }
  if (f.a.dim() != dims_a || f.b.dim() != dims_b || !factors_fit(f)) {
    refuse_factors(f, ErrorKind::BadShape, shapes);
  }
}

// A vector is a matrix of one row, or of one column.
template <typename T>
Matrix<T> matrix_of(const Tensor& tensor, bool as_column = false) {
  const IntSpan sizes = tensor.sizes(), strides = tensor.strides();
  const T* const data = tensor.data<T>();
  if (sizes.size() == 2) return {data, sizes[0], sizes[1], strides[0], strides[1]};
  if (as_column) return {data, sizes[0], 1, strides[0], 1};
  return {data, 1, sizes[0], sizes[0], strides[0]};
}

// The build's product, for matrices that fill its blocks; vectors go to Eigen's.
template <typename T>
void add_product_by_many(T* out, const Matrix<T>& a, const Matrix<T>& b, T factor) {
  constexpr std::int64_t kLeastSide = 4;
  if constexpr (std::is_integral_v<T>) {
    return add_product(out, a, b, factor);
  } else {
    if (a.rows < kLeastSide || b.columns < kLeastSide) return add_product(out, a, b, factor);
    const ProductLoop<T> multiply = [] {
      if constexpr (std::is_same_v<T, float>) {
        return loops().products.float32;
      } else {
        return loops().products.float64;
      }
    }();
    // By rows or by columns of the result, whichever are more, since each part copies the other
    // factor anew. Where it is cut does not change an element.
    const bool by_rows = a.rows >= b.columns;
    const double one = double(a.columns) * double(by_rows ? b.columns : a.rows);
    const auto grain = std::int64_t(double(kProductsOfAThread) / std::max(one, 1.0)) + 1;
    const std::int64_t all = by_rows ? a.rows : b.columns;
    parallel_for(0, all, std::max<std::int64_t>(grain, 96),
                 [&](std::int64_t begin, std::int64_t end) {
                   Matrix<T> left = a, right = b;
                   if (by_rows) {
                     left.data += begin * a.row_stride;
                     left.rows = end - begin;
                     multiply(out + begin * b.columns, b.columns, left, right, factor);
                   } else {
                     right.data += begin * b.column_stride;
                     right.columns = end - begin;
                     multiply(out + begin, b.columns, left, right, factor);
                   }
                 });
  }
}

// out += factor * a * b. `out` is row-major and apart from both.
void accumulate(const Factors& f, const Tensor& out, const Number& factor) {
  visit_computed(f.a.dtype(), [&](auto sample) {
    using T = decltype(sample);
    if constexpr (!std::is_same_v<T, bool>) {
      const Matrix<T> a = matrix_of<T>(f.a), b = matrix_of<T>(f.b, true);
      const auto add = [&] {
        add_product_by_many(static_cast<T*>(out.impl()->data()), a, b, factor.as<T>());
      };
      std::int64_t work = 0;
      const bool is_small = !__builtin_mul_overflow(a.rows * a.columns, b.columns, &work) &&
                            work < kReleasingProducts;
      if (is_small) return add();
      without_gil(add);
    }
  });
}

Tensor zeros_like_factor(const Tensor& like, IntSpan sizes, DType dtype) {
  Tensor result = empty_beside(like, sizes, dtype);
  fill_elements(result, Number());
  return result;
}

// (a + bi)(c + di) = (ac - bd) + (ad + bc)i, by four products of real matrices.
Tensor multiply_complex_factors(const Factors& f, IntSpan sizes) {
  const DType dtype = real_for(f.a.dtype());
  const auto factor = [&](std::int64_t number) { return number_in(f.op, "factor", number, dtype); };
  const std::array<Tensor, 2> a = {part_of(f.a, 0), part_of(f.a, 1)};
  const std::array<Tensor, 2> b = {part_of(f.b, 0), part_of(f.b, 1)};
  const auto add = [&](const Tensor& out, int i, int k, std::int64_t sign) {
    const auto at = [](int part) { return std::size_t(part); };
    accumulate({f.op, f.name_a, a[at(i)], f.name_b, b[at(k)]}, out, factor(sign));
  };
  const Tensor real = zeros_like_factor(f.a, sizes, dtype),
               imaginary = zeros_like_factor(f.a, sizes, dtype);
  add(real, 0, 0, 1);
  add(real, 1, 1, -1);
  add(imaginary, 0, 1, 1);
  add(imaginary, 1, 0, 1);
  Tensor result = Tensor::empty(sizes, f.a.dtype());
  copy_elements(f.op, part_of(result, 0), real);
  copy_elements(f.op, part_of(result, 1), imaginary);
  return result;
}

Tensor multiply_matrices(const Factors& f, IntSpan sizes) {
  const DType dtype = f.a.dtype(), carrier = carrier_of(dtype);
  if (is_meta(f.a) || is_meta(f.b)) {
    return empty_beside(is_meta(f.a) ? f.a : f.b, sizes, dtype);
  }
  if (is_complex(dtype)) return multiply_complex_factors(f, sizes);
  const Tensor a = converted(f.op, f.a, carrier), b = converted(f.op, f.b, carrier);
  const Tensor result = zeros_like_factor(a, sizes, carrier);
  accumulate({f.op, f.name_a, a, f.name_b, b}, result, number_in(f.op, "factor", true, carrier));
  return converted(f.op, result, dtype);
}

constexpr const char* kTwoMatrices =
    "two matrices are needed, where the first has as many columns as the second has rows";

Tensor mm_kernel(const Tensor& self, const Tensor& mat2) {
  const Factors f{"aten::mm", "self", self, "mat2", mat2};
  require_factors(f, 2, 2, kTwoMatrices);
  if (is_symbolic(f)) return symbolic_product(f.op, self, mat2);
  return multiply_matrices(f, std::array{self.sizes()[0], mat2.sizes()[1]});
}

Tensor& mm_out(const Tensor& self, const Tensor& mat2, Tensor& out) {
  const Factors f{"aten::mm.out", "self", self, "mat2", mat2};
  require_factors(f, 2, 2, kTwoMatrices);
  const std::array sizes = {self.sizes()[0], mat2.sizes()[1]};
  require_writable(f.op, "out", out);
  require_result_device(f.op, "out", out, is_meta(self) ? self.device() : mat2.device());
  require_dtype(f.op, "out", out, self.dtype());
  require_result_sizes(f.op, "out", out, sizes);
  out.count_write();
  const bool has_loops = carrier_of(out.dtype()) == out.dtype() && !is_complex(out.dtype());
  const bool is_apart = !overlap(out, self) && !overlap(out, mat2);
  if (is_meta(out)) return out;
  if (has_loops && out.is_contiguous() && is_apart) {
    fill_elements(out, Number());
    accumulate(f, out, number_in(f.op, "factor", true, self.dtype()));
  } else {
    copy_elements(f.op, out, multiply_matrices(f, sizes));
  }
  return out;
}

// beta * term, as what a sum starts from; a beta of 0 ignores even nan.
template <typename T>
void scale(T* data, std::int64_t count, T beta) {
  using Word = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
  if (beta == T(1)) return;
  for (std::int64_t i = 0; i < count; ++i) data[i] = T(Word(data[i]) * Word(beta));
}

// beta * self + alpha * product
Tensor add_complex(const Factors& f, const Tensor& self, IntSpan sizes, const Scalar& beta,
                   const Scalar& alpha) {
  Tensor result = multiply_matrices(f, sizes);
  const Tensor term = zeros_like_factor(result, sizes, self.dtype());
  if (beta.to_complex() != 0.0) copy_elements(f.op, term, self);
  const auto join = [&](auto* out, const auto* other) {
    using T = std::remove_pointer_t<decltype(out)>;
    const T by = T(alpha.to_complex()), other_by = T(beta.to_complex());
    for (std::int64_t i = 0; i < result.numel(); ++i) {
      out[i] = add(multiply(by, out[i]), multiply(other_by, other[i]));
    }
  };
  void* const out = result.impl()->data();
  const void* const other = term.impl()->data();
  if (self.dtype() == DType::ComplexFloat) {
    join(static_cast<Complex64*>(out), static_cast<const Complex64*>(other));
  } else {
    join(static_cast<Complex128*>(out), static_cast<const Complex128*>(other));
  }
  return result;
}

Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
             const Scalar& alpha) {
  const Factors f{"aten::addmm", "mat1", mat1, "mat2", mat2};
  require_factors(f, 2, 2, kTwoMatrices);
  require_dtype(f.op, "self", self, mat1.dtype());
  if (is_symbolic(f) || has_symbolic_sizes(self)) {
    const Tensor product = symbolic_product(f.op, mat1, mat2);
    require_expandable(f.op, {"self", self}, {"the product", product});
    const auto joined = find_broadcast(sym_sizes(product), sym_sizes(self));
    return empty_on_meta(f.op, *joined, self.dtype());
  }
  const DimVector sizes = {mat1.sizes()[0], mat2.sizes()[1]};
  require_expandable(f.op, {"self", self}, "the product", sizes);
  if (!is_complex(self.dtype())) {
    require_real(f.op, "beta", beta);
    require_real(f.op, "alpha", alpha);
  }
  if (is_integral(self.dtype()) && (beta.is_floating_point() || alpha.is_floating_point())) {
    refuse(ErrorKind::BadArgument, {f.op, ": beta is ", beta, " and alpha is ", alpha,
                                    "; for matrices of integers both must be integers"});
  }
  if (is_meta(self) || is_meta(mat1) || is_meta(mat2)) {
    return Tensor::empty(sizes, self.dtype(), {Backend::Meta});
  }
  if (is_complex(self.dtype())) return add_complex(f, self, sizes, beta, alpha);
  if (carrier_of(self.dtype()) != self.dtype()) {
    const auto carried = [&](const Tensor& x) { return converted(f.op, x, carrier_of(x.dtype())); };
    const Tensor sum = addmm(carried(self), carried(mat1), carried(mat2), beta, alpha);
    return converted(f.op, sum, self.dtype());
  }
  const Number scale_by = number_in(f.op, "beta", beta, self.dtype());
  const Number factor = number_in(f.op, "alpha", alpha, self.dtype());
  Tensor result = Tensor::empty(sizes, self.dtype());
  visit_computed(self.dtype(), [&](auto sample) {
    using T = decltype(sample);
    if constexpr (!std::is_same_v<T, bool>) {
      if (scale_by.as<T>() == T(0)) {
        fill_elements(result, Number());
      } else {
        copy_elements(f.op, result, self);
        scale(static_cast<T*>(result.impl()->data()), result.numel(), scale_by.as<T>());
      }
    }
  });
  accumulate(f, result, factor);
  return result;
}

Tensor mv(const Tensor& self, const Tensor& vec) {
  const Factors f{"aten::mv", "self", self, "vec", vec};
  require_factors(f, 2, 1,
                  "a matrix and a vector of as many elements as it has columns are needed");
  if (is_symbolic(f)) return symbolic_product(f.op, self, vec);
  return multiply_matrices(f, std::array{self.sizes()[0]});
}

Tensor dot(const Tensor& self, const Tensor& tensor) {
  const Factors f{"aten::dot", "self", self, "tensor", tensor};
  require_factors(f, 1, 1, "two vectors of one length are needed");
  if (is_symbolic(f)) return symbolic_product(f.op, self, tensor);
  return multiply_matrices(f, {});
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("mm(Tensor self, Tensor mat2) -> Tensor");
  m.def("mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)");
  m.def("addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor");
  m.def("mv(Tensor self, Tensor vec) -> Tensor");
  m.def("dot(Tensor self, Tensor tensor) -> Tensor");
}

OPYARD_KERNELS(m) {
  name_build(m);
  m.impl("mm", &mm_kernel);
  m.impl("mm.out", &mm_out);
  m.impl("addmm", &addmm);
  m.impl("mv", &mv);
  m.impl("dot", &dot);
}

}  // namespace opyard::kernels
