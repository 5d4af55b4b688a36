// test/cpp/kernels/test_kernels_arithmetic.cpp: protects results of each elementwise operator: values,
// dtypes, the edges of both, and the sentences for what has no answer. How operands meet is
// test_kernels_elementwise.cpp. Suspect kernels/src/pointwise/.
#include <limits>

#include "../aten.h"

namespace opyard::test_kernels_arithmetic {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();

TEST(Arithmetic, AddsSubtractsAndMultiplies) {
  const Tensor x = f32({3}, {1, 2, 3}), y = f32({3}, {10, 20, 30});
  EXPECT_EQ(aten("add.Tensor", {x, y}), "float32[3] 11 22 33");
  EXPECT_EQ(aten("add.Tensor", {x, y, keyword("alpha", 2)}), "float32[3] 21 42 63");
  EXPECT_EQ(aten("add.Scalar", {x, 0.5}), "float32[3] 1.5 2.5 3.5");
  EXPECT_EQ(aten("sub.Tensor", {x, y, keyword("alpha", 0.5)}), "float32[3] -4 -8 -12");
  EXPECT_EQ(aten("sub.Scalar", {x, 1}), "float32[3] 0 1 2");
  EXPECT_EQ(aten("rsub.Scalar", {x, 1}), "float32[3] 0 -1 -2");
  EXPECT_EQ(aten("rsub.Tensor", {x, y, keyword("alpha", 2)}), "float32[3] 8 16 24");
  EXPECT_EQ(aten("mul.Tensor", {x, y}), "float32[3] 10 40 90");
  EXPECT_EQ(aten("mul.Scalar", {i64({2}, {3, 4}), 5}), "int64[2] 15 20");
}

TEST(Arithmetic, OfBoolIsLogic) {
  const Tensor x = b8({4}, {false, false, true, true}), y = b8({4}, {false, true, false, true});
  EXPECT_EQ(aten("add.Tensor", {x, y}), "bool[4] False True True True");
  EXPECT_EQ(aten("mul.Tensor", {x, y}), "bool[4] False False False True");
  EXPECT_EQ(aten("add.Tensor", {x, y, keyword("alpha", false)}), "bool[4] False False True True");
  EXPECT_THROWN(
      aten("sub.Tensor", {x, y}), Unsupported,
      "aten::sub.Tensor: self is bool[4] and other is bool[4], which is computed in bool; "
      "accepted are inputs that are computed in uint8, int8, int16, int32, int64, float16, "
      "float32, "
      "float64, complex64, complex128, bfloat16, uint16, uint32, uint64");
}

TEST(Arithmetic, IntegersWrap) {
  const Tensor x = i64({2}, {kLowest, INT64_MAX});
  EXPECT_EQ(aten("sub.Scalar", {x, 1}), "int64[2] 9223372036854775807 9223372036854775806");
  EXPECT_EQ(aten("mul.Scalar", {x, 2}), "int64[2] 0 -2");
  EXPECT_EQ(aten("neg", {x}), "int64[2] -9223372036854775808 -9223372036854775807");
  EXPECT_EQ(aten("abs", {x}), "int64[2] -9223372036854775808 9223372036854775807");
}

TEST(Arithmetic, AlphaMustFitTheResult) {
  const Tensor x = i64({1}, {1});
  EXPECT_THROWN(aten("add.Tensor", {x, x, keyword("alpha", 0.5)}), BadArgument,
                "aten::add.Tensor: alpha is 0.5 and the result is int64; accepted are a "
                "complex number where the result is complex, a float where it is a float or "
                "complex, an int everywhere, and a bool where it is bool");
  EXPECT_THROWN(aten("add.Scalar", {x, 1, true}), BadArgument,
                "aten::add.Scalar: alpha is True and the result is int64; accepted are a "
                "complex number where the result is complex, a float where it is a float or "
                "complex, an int everywhere, and a bool where it is bool");
}

TEST(Division, IsTrueByDefault) {
  EXPECT_EQ(aten("div.Tensor", {i64({2}, {1, -7}), i64({2}, {2, 2})}), "float32[2] 0.5 -3.5");
  EXPECT_EQ(aten("div.Scalar", {b8({2}, {true, false}), 2}), "float32[2] 0.5 0");
  EXPECT_EQ(aten("div.Scalar", {f64({1}, {1}), 3}), "float64[1] 0.3333333333");
  EXPECT_EQ(aten("div.Scalar", {f32({3}, {1, -1, 0}), 0}), "float32[3] inf -inf nan");
}

TEST(Division, RoundsAsAsked) {
  const Tensor x = i64({4}, {7, -7, 7, -7}), y = i64({4}, {2, 2, -2, -2});
  EXPECT_EQ(aten("div.Tensor_mode", {x, y, keyword("rounding_mode", "trunc")}),
            "int64[4] 3 -3 -3 3");
  EXPECT_EQ(aten("div.Tensor_mode", {x, y, keyword("rounding_mode", "floor")}),
            "int64[4] 3 -4 -4 3");
  EXPECT_EQ(aten("floor_divide", {x, y}), "int64[4] 3 -4 -4 3");
  EXPECT_EQ(aten("remainder.Tensor", {x, y}), "int64[4] 1 1 -1 -1");
  EXPECT_EQ(aten("div.Tensor_mode", {x, y, keyword("rounding_mode", Value())}),
            "float32[4] 3.5 -3.5 -3.5 3.5");
  const Tensor a = f32({5}, {7, -7, 6, -1, 1}), b = f32({5}, {2, 2, -2, float(kInfinity), 0});
  EXPECT_EQ(aten("floor_divide", {a, b}), "float32[5] 3 -4 -3 -1 inf");
  EXPECT_EQ(aten("remainder.Tensor", {f32({4}, {7, -7, 7, -7}), f32({4}, {2, 2, -2, -2})}),
            "float32[4] 1 1 -1 -1");
  EXPECT_EQ(aten("floor_divide.Scalar", {f64({1}, {1}), 0.1}), "float64[1] 9") << "as in Python";
  EXPECT_THROWN(aten("div.Tensor_mode", {x, y, keyword("rounding_mode", "up")}), BadValue,
                "aten::div.Tensor_mode: rounding_mode is 'up'; accepted are 'trunc', 'floor' and "
                "None");
}

TEST(Division, OfIntegersByZeroIsRefused) {
  const Tensor x = i64({2}, {1, 2}), y = i64({2}, {1, 0});
  constexpr const char* kRest =
      ": other contains a zero, by which integers cannot be divided; convert self to a float dtype "
      "for inf and nan";
  EXPECT_THROWN(aten("floor_divide", {x, y}), BadValue, std::string("aten::floor_divide") + kRest);
  EXPECT_THROWN(aten("remainder.Tensor", {x, y}), BadValue,
                std::string("aten::remainder.Tensor") + kRest);
  EXPECT_THROWN(aten("remainder.Scalar", {x, 0}), BadValue,
                std::string("aten::remainder.Scalar") + kRest);
  EXPECT_THROWN(aten("floor_divide", {x, b8({2}, {true, false})}), BadValue,
                std::string("aten::floor_divide") + kRest);
  EXPECT_EQ(aten("floor_divide", {i64({0}, {}), i64({}, {0})}), "int64[0]");
  EXPECT_EQ(aten("floor_divide.Scalar", {i64({1}, {kLowest}), -1}),
            "int64[1] -9223372036854775808");
  EXPECT_EQ(aten("remainder.Scalar", {i64({1}, {kLowest}), -1}), "int64[1] 0");
}

TEST(Power, OfIntegersAndFloats) {
  EXPECT_EQ(aten("pow.Tensor_Scalar", {i64({3}, {2, -3, 10}), 3}), "int64[3] 8 -27 1000");
  EXPECT_EQ(aten("pow.Tensor_Scalar", {i64({2}, {3, -4}), 2}), "int64[2] 9 16");
  EXPECT_EQ(aten("pow.Tensor_Scalar", {i64({2}, {4, 9}), 0.5}), "float32[2] 2 3");
  EXPECT_EQ(aten("pow.Tensor_Scalar", {f32({2}, {1.5, -2}), 2}), "float32[2] 2.25 4");
  EXPECT_EQ(aten("pow.Tensor_Tensor", {i64({4}, {2, 1, -1, 3}), i64({4}, {-1, -5, -3, 0})}),
            "int64[4] 0 1 -1 1");
  EXPECT_EQ(aten("pow.Scalar", {2, f32({2}, {3, -1})}), "float32[2] 8 0.5");
  EXPECT_THROWN(aten("pow.Tensor_Scalar", {i64({1}, {2}), -1}), BadValue,
                "aten::pow.Tensor_Scalar: self is int64[1] and exponent is -1; integers have no "
                "negative powers, so make self or exponent a float");
}

TEST(Extremum, NaNWins) {
  const Tensor x = f64({3}, {1, kNaN, 3}), y = f64({3}, {2, 2, kNaN});
  EXPECT_EQ(aten("maximum", {x, y}), "float64[3] 2 nan nan");
  EXPECT_EQ(aten("minimum", {x, y}), "float64[3] 1 nan nan");
  EXPECT_EQ(aten("max.other", {i64({2}, {1, 5}), i64({}, {3})}), "int64[2] 3 5");
  EXPECT_EQ(aten("relu", {f64({4}, {-1, 0, 2, kNaN})}), "float64[4] 0 0 2 nan");
}

TEST(Clamp, TakesEitherOrBothBounds) {
  const Tensor x = f32({4}, {-2, 0, 2, float(kNaN)});
  EXPECT_EQ(aten("clamp", {x, -1, 1}), "float32[4] -1 0 1 nan");
  EXPECT_EQ(aten("clamp", {x, 0.5}), "float32[4] 0.5 0.5 2 nan");
  EXPECT_EQ(aten("clamp", {x, keyword("max", 0)}), "float32[4] -2 0 0 nan");
  EXPECT_EQ(aten("clamp", {i64({3}, {-5, 0, 5}), keyword("max", 2)}), "int64[3] -5 0 2");
  EXPECT_EQ(aten("clamp", {i64({2}, {-5, 5}), 0.5}), "float32[2] 0.5 5");
  EXPECT_EQ(aten("clamp", {x, 3, 1}), "float32[4] 1 1 1 nan") << "max wins over min";
  EXPECT_THROWN(aten("clamp", {x}), BadArgument,
                "aten::clamp: min and max are both None; give at least one of them");
}

TEST(Comparison, GivesBool) {
  const Tensor x = i64({3}, {1, 2, 3}), y = i64({3}, {3, 2, 1});
  EXPECT_EQ(aten("eq.Tensor", {x, y}), "bool[3] False True False");
  EXPECT_EQ(aten("ne.Tensor", {x, y}), "bool[3] True False True");
  EXPECT_EQ(aten("lt.Tensor", {x, y}), "bool[3] True False False");
  EXPECT_EQ(aten("le.Tensor", {x, y}), "bool[3] True True False");
  EXPECT_EQ(aten("gt.Tensor", {x, y}), "bool[3] False False True");
  EXPECT_EQ(aten("ge.Tensor", {x, y}), "bool[3] False True True");
  EXPECT_EQ(aten("eq.Scalar", {x, 2.0}), "bool[3] False True False");
  EXPECT_EQ(aten("gt.Scalar", {x, 1.5}), "bool[3] False True True");
  EXPECT_EQ(aten("eq.Tensor", {f64({2}, {kNaN, 0}), f64({2}, {kNaN, -0.0})}), "bool[2] False True");
  EXPECT_EQ(aten("ne.Scalar", {f32({1}, {float(kNaN)}), 0}), "bool[1] True");
}

TEST(Logic, OfAnyDtypeIsBoolAndBitwiseKeepsIntegers) {
  const Tensor x = f64({4}, {0, 2, kNaN, 0}), y = f64({4}, {0, 0, 1, 1});
  EXPECT_EQ(aten("logical_not", {x}), "bool[4] True False False True");
  EXPECT_EQ(aten("logical_and", {x, y}), "bool[4] False False True False");
  EXPECT_EQ(aten("logical_or", {x, y}), "bool[4] False True True True");
  EXPECT_EQ(aten("logical_xor", {x, y}), "bool[4] False True False True");
  const Tensor a = i64({2}, {12, -1}), b = i64({2}, {10, 5});
  EXPECT_EQ(aten("bitwise_and.Tensor", {a, b}), "int64[2] 8 5");
  EXPECT_EQ(aten("bitwise_or.Tensor", {a, b}), "int64[2] 14 -1");
  EXPECT_EQ(aten("bitwise_xor.Tensor", {a, b}), "int64[2] 6 -6");
  EXPECT_EQ(aten("bitwise_and.Scalar", {a, 4}), "int64[2] 4 4");
  EXPECT_EQ(aten("bitwise_or.Scalar", {a, 1}), "int64[2] 13 -1");
  EXPECT_EQ(aten("bitwise_xor.Scalar", {b8({1}, {true}), true}), "bool[1] False");
  EXPECT_EQ(aten("bitwise_not", {a}), "int64[2] -13 0");
  EXPECT_EQ(aten("bitwise_not", {b8({2}, {true, false})}), "bool[2] False True");
  EXPECT_THROWN(aten("bitwise_and.Tensor", {x, y}), Unsupported,
                "aten::bitwise_and.Tensor: self is float64[4] and other is float64[4], which is "
                "computed in float64; accepted are inputs that are computed in uint8, int8, int16, "
                "int32, int64, bool, uint16, uint32, uint64");
}

TEST(Unary, GivesFloatsAndKnowsTheEdges) {
  const Tensor x = f64({4}, {-kInfinity, 0, 1, kInfinity});
  EXPECT_EQ(aten("exp", {x}), "float64[4] 0 1 2.718281828 inf");
  EXPECT_EQ(aten("tanh", {x}), "float64[4] -1 0 0.761594156 1");
  EXPECT_EQ(aten("sigmoid", {x}), "float64[4] 0 0.5 0.7310585786 1");
  EXPECT_EQ(aten("log", {f64({3}, {0, 1, kInfinity})}), "float64[3] -inf 0 inf");
  EXPECT_EQ(aten("reciprocal", {f32({3}, {4, -2, 0})}), "float32[3] 0.25 -0.5 inf");
  EXPECT_EQ(aten("sqrt", {i64({2}, {16, 2})}), "float32[2] 4 1.41421");
  EXPECT_EQ(aten("abs", {f32({3}, {-1.5, 0, 2})}), "float32[3] 1.5 0 2");
  EXPECT_EQ(aten("neg", {f32({2}, {1.5, -2})}), "float32[2] -1.5 2");
  EXPECT_EQ(aten("sigmoid", {f32({2}, {-200, 200})}), "float32[2] 0 1");
  EXPECT_THROWN(aten("neg", {b8({1}, {true})}), Unsupported,
                "aten::neg: self is bool[1], which is computed in bool; accepted are inputs that "
                "are computed in uint8, int8, int16, int32, int64, float16, float32, float64, "
                "complex64, complex128, bfloat16, uint16, uint32, uint64");
}

TEST(Where, ChoosesByABoolTensor) {
  const Tensor mask = b8({2, 1}, {true, false});
  EXPECT_EQ(aten("where.self", {mask, i64({2}, {1, 2}), f32({}, {0.5})}),
            "float32[2, 2] 1 2 0.5 0.5");
  EXPECT_EQ(aten("masked_fill.Scalar", {i64({2, 2}, {1, 2, 3, 4}), mask, 9}),
            "int64[2, 2] 9 9 3 4");
  EXPECT_THROWN(aten("where.self", {i64({1}, {1}), f32({}, {1}), f32({}, {1})}), BadArgument,
                "aten::where.self: condition is int64[1]; its dtype must be bool");
  EXPECT_THROWN(aten("masked_fill.Scalar", {i64({1}, {1}), b8({1}, {true}), kInfinity}), BadValue,
                "aten::masked_fill.Scalar: value is inf, which does not fit into int64; accepted "
                "are -9223372036854775808 to 9223372036854775807");
}

}  // namespace
}  // namespace opyard::test_kernels_arithmetic
