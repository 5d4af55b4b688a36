// test/cpp/kernels/test_kernels_linear.cpp: protects products of matrices and vectors: every layout of both
// sides, empty ones, and the shapes that do not fit. Suspect kernels/src/matrix/.
#include <limits>

#include "../aten.h"

namespace opyard::test_kernels_linear {
namespace {

const float kNaN = std::numeric_limits<float>::quiet_NaN();

// Small integers, so that every order of summation gives the same bits.
template <typename T>
Tensor numbers(std::int64_t rows, std::int64_t columns, int seed) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < rows * columns; ++i) values.push_back(T((i * 7 + seed) % 11 - 5));
  return tensor_of<T>({rows, columns}, values);
}

// The product by its definition.
template <typename T>
Tensor defined_product(const Tensor& a, const Tensor& b) {
  const std::int64_t rows = a.sizes()[0], inner = a.sizes()[1], columns = b.sizes()[1];
  Tensor out = Tensor::empty(Sizes{rows, columns}, dtype_of<T>);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      T sum = 0;
      for (std::int64_t k = 0; k < inner; ++k) {
        sum += a.data<T>()[i * a.strides()[0] + k * a.strides()[1]] *
               b.data<T>()[k * b.strides()[0] + j * b.strides()[1]];
      }
      out.mutable_data<T>()[i * columns + j] = sum;
    }
  }
  return out;
}

// The same matrix in five layouts.
template <typename T>
std::vector<Tensor> layouts_of(const Tensor& x) {
  const std::int64_t rows = x.sizes()[0], columns = x.sizes()[1];
  std::vector<Tensor> all = {x};
  const Tensor turned = aten_tensor("contiguous", {aten_tensor("t", {x})});
  all.push_back(aten_tensor("t", {turned}));
  // A part of a wider and higher matrix, of its transposed, and every third element of it.
  const Tensor wide = Tensor::empty(Sizes{rows + 2, columns * 3 + 1}, x.dtype());
  aten("zero_", {wide});
  const std::int64_t width = wide.strides()[0];
  all.push_back(wide.as_strided(Sizes{rows, columns}, Sizes{width, 1}, 1));
  all.push_back(wide.as_strided(Sizes{rows, columns}, Sizes{width, 3}, width));
  const Tensor high = Tensor::empty(Sizes{columns, rows + 3}, x.dtype());
  all.push_back(high.as_strided(Sizes{rows, columns}, Sizes{1, rows + 3}, 2));
  for (std::size_t i = 2; i < all.size(); ++i) {
    // Those that share memory are copied apart, with their strides.
    const Tensor own =
        Tensor::empty(Sizes{std::int64_t(wide.numel() + high.numel() + 8)}, x.dtype());
    all[i] = own.as_strided(all[i].sizes(), all[i].strides(), 0);
    aten("copy_", {all[i], x});
  }
  return all;
}

template <typename T>
void expect_every_layout(std::int64_t rows, std::int64_t inner, std::int64_t columns) {
  const Tensor a = numbers<T>(rows, inner, 1), b = numbers<T>(inner, columns, 4);
  const std::string expected = show(defined_product<T>(a, b));
  for (const Tensor& left : layouts_of<T>(a)) {
    for (const Tensor& right : layouts_of<T>(b)) {
      EXPECT_EQ(aten("mm", {left, right}), expected)
          << describe_sizes(left.strides()) << " by " << describe_sizes(right.strides());
    }
  }
}

TEST(MatrixProduct, OfEveryLayoutIsTheSame) {
  expect_every_layout<float>(3, 5, 4);
  expect_every_layout<float>(17, 33, 20);
  expect_every_layout<double>(19, 8, 21);
  expect_every_layout<std::int64_t>(5, 6, 7);
  expect_every_layout<float>(1, 9, 5);
  expect_every_layout<float>(9, 5, 1);
  expect_every_layout<float>(4, 1, 6);
}

TEST(MatrixProduct, OfNothing) {
  EXPECT_EQ(aten("mm", {f32({2, 0}, {}), f32({0, 2}, {})}), "float32[2, 2] 0 0 0 0");
  EXPECT_EQ(aten("mm", {f32({0, 2}, {}), f32({2, 3}, {1, 2, 3, 4, 5, 6})}), "float32[0, 3]");
}

TEST(MatrixProduct, ReadsExpandedMatrices) {
  const Tensor column = aten_tensor("expand", {f32({2, 1}, {1, 2}), ints({2, 3})});
  const Tensor row = aten_tensor("expand", {f32({1, 2}, {1, 10}), ints({3, 2})});
  EXPECT_EQ(aten("mm", {column, row}), "float32[2, 2] 3 30 6 60");
}

TEST(MatrixProduct, WrapsIntegers) {
  EXPECT_EQ(aten("mm", {i64({1, 2}, {INT64_MAX, 1}), i64({2, 1}, {2, 5})}), "int64[1, 1] 3");
}

TEST(MatrixProduct, NamesShapesThatDoNotFit) {
  const Tensor x = numbers<float>(2, 3, 0);
  EXPECT_THROWN(aten("mm", {x, x}), BadShape,
                "aten::mm: self is float32[2, 3] and mat2 is float32[2, 3]; two matrices are "
                "needed, where the first has as many columns as the second has rows");
  EXPECT_THROWN(aten("mm", {x, f32({3}, {1, 2, 3})}), BadShape,
                "aten::mm: self is float32[2, 3] and mat2 is float32[3]; two matrices are needed, "
                "where the first has as many columns as the second has rows");
  EXPECT_THROWN(aten("mm", {x, f64({3, 1}, {1, 2, 3})}), BadArgument,
                "aten::mm: self is float32[2, 3] and mat2 is float64[3, 1]; both must have one "
                "dtype, to which aten::to.dtype converts");
  EXPECT_THROWN(aten("mm", {b8({1, 1}, {true}), b8({1, 1}, {true})}), Unsupported,
                "aten::mm: self is bool[1, 1] and mat2 is bool[1, 1]; accepted are "
                "integers, floats and complex numbers");
}

TEST(MatrixProduct, IntoOut) {
  const Tensor a = numbers<float>(2, 2, 1), b = numbers<float>(2, 2, 4);
  const std::string expected = show(defined_product<float>(a, b));
  const Tensor out = f32({2, 2}, {9, 9, 9, 9});
  EXPECT_TRUE(aten_tensor("mm.out", {a, b, keyword("out", out)}).same(out));
  EXPECT_EQ(show(out), expected);
  const Tensor turned = aten_tensor("t", {f32({2, 2}, {9, 9, 9, 9})});
  EXPECT_EQ(aten("mm.out", {a, b, keyword("out", turned)}), expected);
  EXPECT_EQ(aten("mm.out", {a, b, keyword("out", a)}), expected) << "out may be a factor";
  EXPECT_THROWN(aten("mm.out", {a, b, keyword("out", f64({2, 2}, {1, 2, 3, 4}))}), BadArgument,
                "aten::mm.out: out is float64[2, 2]; its dtype must be float32");
}

TEST(AddedProduct, ScalesBothTerms) {
  const Tensor a = f32({2, 2}, {1, 2, 3, 4}), one = f32({2, 2}, {1, 0, 0, 1});
  EXPECT_EQ(aten("addmm", {f32({2}, {10, 20}), a, one}), "float32[2, 2] 11 22 13 24");
  EXPECT_EQ(
      aten("addmm", {f32({2, 1}, {10, 20}), a, one, keyword("beta", 0.5), keyword("alpha", 2)}),
      "float32[2, 2] 7 9 16 18");
  EXPECT_EQ(aten("addmm", {f32({}, {kNaN}), a, one, keyword("beta", 0)}), "float32[2, 2] 1 2 3 4");
  EXPECT_EQ(aten("addmm", {i64({}, {1}), i64({1, 1}, {2}), i64({1, 1}, {3}), keyword("beta", 5)}),
            "int64[1, 1] 11");
  EXPECT_THROWN(aten("addmm", {f32({3}, {1, 2, 3}), a, one}), BadShape,
                "aten::addmm: self is float32[3] and does not fit the product, which is [2, 2]: "
                "dimension -1 of self is 3, and must be 2 or 1");
  EXPECT_THROWN(
      aten("addmm", {i64({}, {1}), i64({1, 1}, {2}), i64({1, 1}, {3}), keyword("beta", 0.5)}),
      BadArgument,
      "aten::addmm: beta is 0.5 and alpha is 1; for matrices of integers both must be integers");
}

TEST(Vectors, ByMatricesAndByVectors) {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6}), v = f32({3}, {1, 10, 100});
  EXPECT_EQ(aten("mv", {x, v}), "float32[2] 321 654");
  EXPECT_EQ(aten("mv", {aten_tensor("t", {x}), f32({2}, {1, 10})}), "float32[3] 41 52 63");
  EXPECT_EQ(aten("mv", {x, reversed({1, 10, 100})}), "float32[2] 321 654");
  EXPECT_EQ(aten("dot", {v, v}), "float32[] 10101");
  EXPECT_EQ(aten("dot", {reversed({1, 2}), f32({2}, {10, 1})}), "float32[] 12");
  EXPECT_EQ(aten("dot", {i64({2}, {1, 2}), i64({2}, {3, 4})}), "int64[] 11");
  EXPECT_THROWN(
      aten("mv", {x, f32({2}, {1, 2})}), BadShape,
      "aten::mv: self is float32[2, 3] and vec is float32[2]; a matrix and a vector of as "
      "many elements as it has columns are needed");
  EXPECT_THROWN(aten("dot", {v, x}), BadShape,
                "aten::dot: self is float32[3] and tensor is float32[2, 3]; two vectors of one "
                "length are needed");
}

TEST(Matmul, PicksByTheNumberOfDimensions) {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6}), v = f32({3}, {1, 10, 100});
  EXPECT_EQ(aten("matmul", {v, v}), "float32[] 10101");
  EXPECT_EQ(aten("matmul", {x, v}), "float32[2] 321 654");
  EXPECT_EQ(aten("matmul", {f32({2}, {1, 10}), x}), "float32[3] 41 52 63");
  EXPECT_EQ(aten("matmul", {x, aten_tensor("t", {x})}), "float32[2, 2] 14 32 32 77");
  const Tensor batch = aten_tensor("reshape", {x, ints({2, 1, 3})});
  EXPECT_EQ(aten("matmul", {batch, aten_tensor("t", {x})}), "float32[2, 1, 2] 14 32 32 77");
  EXPECT_EQ(aten("matmul", {batch, v}), "float32[2, 1] 321 654");
  EXPECT_THROWN(aten("matmul", {x, batch}), BadShape,
                "aten::matmul: self is float32[2, 3] and other is float32[2, 1, 3]; the last size "
                "of self must be the last but one of other");
  EXPECT_THROWN(aten("matmul", {x, x}), BadShape,
                "aten::matmul: self is float32[2, 3] and other is float32[2, 3]; the last size of "
                "self must be the first size of other");
  EXPECT_THROWN(
      aten("matmul", {f32({}, {2}), x}), BadShape,
      "aten::matmul: self is float32[] and other is float32[2, 3]; both need at least one "
      "dimension, and aten::mul.Tensor multiplies by a number");
}

}  // namespace
}  // namespace opyard::test_kernels_linear
