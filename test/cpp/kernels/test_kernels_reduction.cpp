// test/cpp/kernels/test_kernels_reduction.cpp: protects sums, means, extremes, truth and softmax: which
// elements fall together, in which order they are summed, and what nothing gives.
// Suspect kernels/src/reduction/ and kernels/loops/sums.h.
#include <cmath>
#include <limits>

#include "../aten.h"

namespace opyard::test_kernels_reduction {
namespace {

const float kNaN = std::numeric_limits<float>::quiet_NaN();
const float kInfinity = std::numeric_limits<float>::infinity();

Tensor cube() {
  std::vector<float> values;
  for (int i = 0; i < 24; ++i) values.push_back(float(i));
  return f32({2, 3, 4}, values);
}

TEST(Sum, OverEverythingOrSomeDimensions) {
  const Tensor x = cube();
  EXPECT_EQ(aten("sum", {x}), "float32[] 276");
  EXPECT_EQ(aten("sum.dim_IntList", {x, ints({0})}),
            "float32[3, 4] 12 14 16 18 20 22 24 26 28 30 32 34");
  EXPECT_EQ(aten("sum.dim_IntList", {x, ints({1})}), "float32[2, 4] 12 15 18 21 48 51 54 57");
  EXPECT_EQ(aten("sum.dim_IntList", {x, ints({-1})}), "float32[2, 3] 6 22 38 54 70 86");
  EXPECT_EQ(aten("sum.dim_IntList", {x, ints({0, 2})}), "float32[3] 60 92 124");
  EXPECT_EQ(aten("sum.dim_IntList", {x, ints({2, 1}), true}), "float32[2, 1, 1] 66 210");
  EXPECT_EQ(aten("sum.dim_IntList", {x, Value()}), "float32[] 276");
  EXPECT_EQ(aten("sum.dim_IntList", {x, ints({}), true}), "float32[1, 1, 1] 276");
  EXPECT_EQ(aten("sum.dim_IntList", {f32({}, {5}), ints({0})}), "float32[] 5");
}

TEST(Sum, OfStridedInputs) {
  const Tensor x = cube();
  const Tensor permuted = aten_tensor("permute", {x, ints({2, 0, 1})});  // [4, 2, 3]
  EXPECT_EQ(aten("sum.dim_IntList", {permuted, ints({0})}), "float32[2, 3] 6 22 38 54 70 86");
  EXPECT_EQ(aten("sum.dim_IntList", {permuted, ints({1, 2})}), "float32[4] 60 66 72 78");
  EXPECT_EQ(aten("sum.dim_IntList", {permuted, ints({0, 2})}), "float32[2] 66 210");
  const Tensor expanded = aten_tensor("expand", {f32({1, 2}, {1, 10}), ints({3, 2})});
  EXPECT_EQ(aten("sum.dim_IntList", {expanded, ints({0})}), "float32[2] 3 30");
  EXPECT_EQ(aten("sum.dim_IntList", {expanded, ints({1})}), "float32[3] 11 11 11");
  EXPECT_EQ(aten("sum", {reversed({1, 2, 3})}), "float32[] 6");
}

TEST(Sum, DTypeIsSelfsOrInt64ForBoolOrAsAsked) {
  EXPECT_EQ(aten("sum", {b8({3}, {true, false, true})}), "int64[] 2");
  EXPECT_EQ(aten("sum", {i64({2}, {INT64_MAX, 1})}), "int64[] -9223372036854775808");
  EXPECT_EQ(aten("sum", {i64({2}, {1, 2}), keyword("dtype", dtype_value(DType::Float64))}),
            "float64[] 3");
  EXPECT_EQ(aten("sum", {f32({2}, {1.5, 1.5}), keyword("dtype", dtype_value(DType::Int64))}),
            "int64[] 2");
  EXPECT_EQ(aten("sum", {i64({2}, {300, 1}), keyword("dtype", dtype_value(DType::UInt8))}),
            "uint8[] 45");
  const Tensor bytes = aten_tensor("to.dtype", {i64({2}, {200, 100}), dtype_value(DType::UInt8)});
  EXPECT_EQ(aten("sum", {bytes}), "int64[] 300");
  EXPECT_THROWN(aten("sum", {f32({1}, {1}), keyword("dtype", dtype_value(DType::Bool))}),
                Unsupported,
                "aten::sum: dtype is bool; accepted are integers, floats and complex numbers");
}

TEST(Sum, OfNothingIsZero) {
  EXPECT_EQ(aten("sum", {f32({0}, {})}), "float32[] 0");
  EXPECT_EQ(aten("sum.dim_IntList", {f32({2, 0}, {}), ints({1})}), "float32[2] 0 0");
  EXPECT_EQ(aten("sum.dim_IntList", {f32({2, 0}, {}), ints({0})}), "float32[0]");
  EXPECT_EQ(aten("mean", {f32({0}, {})}), "float32[] nan");
}

TEST(Sum, RefusesWrongDimensions) {
  EXPECT_THROWN(aten("sum.dim_IntList", {cube(), ints({3})}), BadIndex,
                "aten::sum.dim_IntList: dimension 3 is out of range for a tensor of 3 dimensions; "
                "accepted are -3 to 2");
  EXPECT_THROWN(aten("sum.dim_IntList", {cube(), ints({1, -2})}), BadValue,
                "aten::sum.dim_IntList: dimension -2 is named twice in [1, -2]; each dimension may "
                "occur once");
}

// The order written down in kernels/loops/sums.h, for float64.
double in_the_documented_order(const double* row, std::int64_t length) {
  if (length > 512) {
    const std::int64_t left = ((length + 511) / 512 + 1) / 2 * 512;
    return in_the_documented_order(row, left) + in_the_documented_order(row + left, length - left);
  }
  double lanes[16] = {};
  const auto at = [&](std::int64_t i) { return i < length ? row[i] : 0; };
  for (std::int64_t begin = 0; begin < length; begin += 64) {
    for (std::int64_t lane = 0; lane < 16; ++lane) {
      const std::int64_t i = begin + lane;
      lanes[lane] += (at(i) + at(i + 16)) + (at(i + 32) + at(i + 48));
    }
  }
  for (int width = 8; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

TEST(Sum, IsBitwiseTheDocumentedOrderWhereverElementsLie) {
  for (const std::int64_t length : {1, 7, 16, 17, 63, 64, 65, 511, 512, 513, 1000, 4099, 70'001}) {
    std::vector<double> values(static_cast<std::size_t>(length));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(double(i)) * 1e10 + 0.1;
    const double expected = in_the_documented_order(values.data(), length);
    const Tensor row = f64({length}, values);
    EXPECT_EQ(*aten_tensor("sum", {row}).data<double>(), expected) << length;
    // The same elements down the columns of a matrix.
    const Tensor columns = aten_tensor(
        "contiguous",
        {aten_tensor("expand", {aten_tensor("unsqueeze", {row, 1}), ints({length, 20})})});
    const Tensor sums = aten_tensor("sum.dim_IntList", {columns, ints({0})});
    for (int i = 0; i < 20; ++i) EXPECT_EQ(sums.data<double>()[i], expected) << length;
  }
}

TEST(Sum, OfFloat32IsRoundedOnceButForFourElementsAtATime) {
  const Tensor ones = aten_tensor("full", {ints({1 << 25}), 1.0});
  EXPECT_EQ(*aten_tensor("sum", {ones}).data<float>(), float(1 << 25));
  EXPECT_EQ(aten("sum", {f32({3}, {1e8F, 1, -1e8F})}), "float32[] 1");
}

TEST(Mean, IsAFloat) {
  EXPECT_EQ(aten("mean", {cube()}), "float32[] 11.5");
  EXPECT_EQ(aten("mean.dim", {cube(), ints({0, 1}), true}), "float32[1, 1, 4] 10 11 12 13");
  EXPECT_EQ(aten("mean", {i64({2}, {1, 2}), keyword("dtype", dtype_value(DType::Float64))}),
            "float64[] 1.5");
  EXPECT_THROWN(aten("mean", {i64({2}, {1, 2})}), BadArgument,
                "aten::mean: self is int64[2] and dtype is None; a mean is a float, so give a "
                "float dtype, as float32");
}

TEST(Extremes, ValuesAndPlaces) {
  const Tensor x = f32({2, 3}, {3, 1, 2, 4, 6, 5});
  EXPECT_EQ(aten("amax", {x}), "float32[] 6");
  EXPECT_EQ(aten("amin", {x, ints({0})}), "float32[3] 3 1 2");
  EXPECT_EQ(aten("amax", {x, ints({1}), true}), "float32[2, 1] 3 6");
  EXPECT_EQ(aten("max", {x}), "float32[] 6");
  EXPECT_EQ(aten("min", {i64({2}, {4, -4})}), "int64[] -4");
  EXPECT_EQ(aten("max.dim", {x, 1}), "float32[2] 3 6; int64[2] 0 1");
  EXPECT_EQ(aten("min.dim", {x, 0, true}), "float32[1, 3] 3 1 2; int64[1, 3] 0 0 0");
  EXPECT_EQ(aten("argmax", {x}), "int64[] 4");
  EXPECT_EQ(aten("argmax", {x, 0}), "int64[3] 1 1 1");
  EXPECT_EQ(aten("argmin", {x, -1, true}), "int64[2, 1] 1 0");
  EXPECT_EQ(aten("argmax", {aten_tensor("t", {x})}), "int64[] 3") << "counted in row-major order";
  EXPECT_EQ(aten("max", {b8({2}, {false, true})}), "bool[] True");
}

TEST(Extremes, TheFirstOfEqualOnesAndTheFirstNaN) {
  EXPECT_EQ(aten("argmax", {i64({4}, {1, 7, 7, 2})}), "int64[] 1");
  EXPECT_EQ(aten("max.dim", {f32({4}, {1, kNaN, 9, kNaN}), 0}), "float32[] nan; int64[] 1");
  EXPECT_EQ(aten("argmin", {f32({3}, {1, kNaN, 0})}), "int64[] 1");
  EXPECT_EQ(aten("max.dim", {f32({2}, {-kInfinity, -kInfinity}), 0}), "float32[] -inf; int64[] 0");
}

TEST(Extremes, OfNothingAreRefused) {
  EXPECT_THROWN(
      aten("amax", {f32({0}, {})}), BadValue,
      "aten::amax: self is float32[0], and no elements have no largest; reduce dimensions "
      "that have elements");
  EXPECT_THROWN(aten("argmin", {f32({2, 0}, {}), 1}), BadValue,
                "aten::argmin: self is float32[2, 0], and no elements have no smallest; reduce "
                "dimensions that have elements");
  EXPECT_EQ(aten("amax", {f32({2, 0}, {}), ints({0})}), "float32[0]") << "no result is wanted";
}

TEST(Truth, AllAndAny) {
  const Tensor x = b8({2, 2}, {true, true, false, true});
  EXPECT_EQ(aten("all", {x}), "bool[] False");
  EXPECT_EQ(aten("any", {x}), "bool[] True");
  EXPECT_EQ(aten("all.dim", {x, 0}), "bool[2] False True");
  EXPECT_EQ(aten("any.dim", {x, 1, true}), "bool[2, 1] True True");
  EXPECT_EQ(aten("any", {f32({2}, {0, kNaN})}), "bool[] True");
  EXPECT_EQ(aten("all", {f32({0}, {})}), "bool[] True");
  EXPECT_EQ(aten("any", {f32({0}, {})}), "bool[] False");
}

TEST(Truth, EqualComparesSizesAndElements) {
  const Tensor x = f32({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(aten("equal", {x, aten_tensor("clone", {x})}), "True");
  EXPECT_EQ(aten("equal", {x, aten_tensor("t", {x})}), "False");
  EXPECT_EQ(aten("equal", {x, f32({4}, {1, 2, 3, 4})}), "False");
  EXPECT_EQ(aten("equal", {f32({1}, {kNaN}), f32({1}, {kNaN})}), "False");
  EXPECT_THROWN(aten("equal", {x, i64({1}, {1})}), BadArgument,
                "aten::equal: other is int64[1]; its dtype must be float32");
}

TEST(Softmax, AlongAnyDimension) {
  const Tensor x = f32({2, 2}, {0, 0, 1000, 1000});
  EXPECT_EQ(aten("softmax.int", {x, 1}), "float32[2, 2] 0.5 0.5 0.5 0.5");
  EXPECT_EQ(aten("softmax.int", {x, 0}), "float32[2, 2] 0 0 1 1");
  EXPECT_EQ(aten("log_softmax.int", {x, 1}),
            "float32[2, 2] -0.693147 -0.693147 -0.693147 -0.693147");
  EXPECT_EQ(aten("log_softmax.int", {x, -2}), "float32[2, 2] -1000 -1000 0 0");
  EXPECT_EQ(aten("softmax.int", {f32({}, {3}), 0}), "float32[] 1");
  EXPECT_EQ(aten("softmax.int", {f32({2, 0}, {}), 1}), "float32[2, 0]");
  EXPECT_EQ(aten("softmax.int", {f32({3}, {-kInfinity, 0, 0}), 0}), "float32[3] 0 0.5 0.5");
  EXPECT_EQ(aten("softmax.int", {i64({2}, {0, 0}), 0, dtype_value(DType::Float64)}),
            "float64[2] 0.5 0.5");
  EXPECT_THROWN(aten("softmax.int", {i64({2}, {0, 0}), 0}), BadArgument,
                "aten::softmax.int: self is int64[2]; accepted are float dtypes");
}

TEST(Softmax, InTheMiddleOfThreeDimensions) {
  const Tensor x = cube();
  const Tensor direct = aten_tensor("softmax.int", {x, 1});
  const Tensor moved =
      aten_tensor("transpose.int",
                  {aten_tensor("softmax.int", {aten_tensor("transpose.int", {x, 1, 2}), 2}), 1, 2});
  EXPECT_EQ(aten("equal", {direct, moved}), "True");
  EXPECT_EQ(aten("sum.dim_IntList", {direct, ints({1})}), "float32[2, 4] 1 1 1 1 1 1 1 1");
}

}  // namespace
}  // namespace opyard::test_kernels_reduction
