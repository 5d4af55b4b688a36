// test/cpp/kernels/test_kernels_elementwise.cpp: protects operands of elementwise operators:
// promotion, broadcasting, any strides, in-place rules, and the sentences for what does not fit.
// Suspect kernels/src/pointwise/elementwise.cpp.
#include "../aten.h"

namespace opyard::test_kernels_elementwise {
namespace {

Tensor zeros(const Sizes& sizes, DType dtype) {
  return aten_tensor("zeros", {ints(sizes), keyword("dtype", dtype_value(dtype))});
}

TEST(Promotion, BetweenTensorsTheLaterDtypeWins) {
  const std::vector<DType> order = {DType::Bool, DType::Int64, DType::Float32, DType::Float64};
  for (std::size_t a = 0; a < order.size(); ++a) {
    for (std::size_t b = 0; b < order.size(); ++b) {
      const DType expected = order[std::max(a, b)];
      for (const Sizes& sizes : {Sizes{2}, Sizes{}}) {
        const Tensor x = zeros(sizes, order[a]), y = zeros(sizes, order[b]);
        EXPECT_EQ(aten_tensor("mul.Tensor", {x, y}).dtype(), expected);
        EXPECT_EQ(aten_tensor("add.Tensor", {x, y}).dtype(), expected);
        EXPECT_EQ(aten_tensor("maximum", {x, y}).dtype(), expected);
      }
    }
  }
}

TEST(Promotion, ATensorWithoutDimensionsCountsByCategoryOnly) {
  const auto with_dims_and_without = [](DType a, DType b) {
    return aten_tensor("mul.Tensor", {zeros({2}, a), zeros({}, b)}).dtype();
  };
  EXPECT_EQ(with_dims_and_without(DType::Float32, DType::Float64), DType::Float32);
  EXPECT_EQ(with_dims_and_without(DType::Float64, DType::Float32), DType::Float64);
  EXPECT_EQ(with_dims_and_without(DType::Int64, DType::Float32), DType::Float32);
  EXPECT_EQ(with_dims_and_without(DType::Int64, DType::Float64), DType::Float64);
  EXPECT_EQ(with_dims_and_without(DType::Bool, DType::Int64), DType::Int64);
  EXPECT_EQ(with_dims_and_without(DType::Bool, DType::Float64), DType::Float64);
  EXPECT_EQ(with_dims_and_without(DType::Int64, DType::Bool), DType::Int64);
}

TEST(Promotion, ANumberCountsByCategoryAndAFloatIsFloat32) {
  const auto with_number = [](const Tensor& x, Value number) {
    return aten_tensor("mul.Scalar", {x, std::move(number)}).dtype();
  };
  for (const Sizes& sizes : {Sizes{2}, Sizes{}}) {
    EXPECT_EQ(with_number(zeros(sizes, DType::Bool), true), DType::Bool);
    EXPECT_EQ(with_number(zeros(sizes, DType::Bool), 2), DType::Int64);
    EXPECT_EQ(with_number(zeros(sizes, DType::Bool), 2.5), DType::Float32);
    EXPECT_EQ(with_number(zeros(sizes, DType::Int64), true), DType::Int64);
    EXPECT_EQ(with_number(zeros(sizes, DType::Int64), 2.5), DType::Float32);
    EXPECT_EQ(with_number(zeros(sizes, DType::Float32), 2), DType::Float32);
    EXPECT_EQ(with_number(zeros(sizes, DType::Float64), 2.5), DType::Float64);
  }
}

TEST(Broadcasting, FollowsSizesFromTheLast) {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(aten("add.Tensor", {x, f32({3}, {10, 20, 30})}), "float32[2, 3] 11 22 33 14 25 36");
  EXPECT_EQ(aten("add.Tensor", {x, f32({2, 1}, {10, 20})}), "float32[2, 3] 11 12 13 24 25 26");
  EXPECT_EQ(aten("add.Tensor", {f32({2, 1}, {1, 2}), f32({1, 3}, {10, 20, 30})}),
            "float32[2, 3] 11 21 31 12 22 32");
  EXPECT_EQ(aten("add.Tensor", {f32({}, {1}), f32({}, {2})}), "float32[] 3");
  EXPECT_EQ(aten("add.Tensor", {f32({0, 3}, {}), f32({1, 3}, {1, 2, 3})}), "float32[0, 3]");
  EXPECT_EQ(aten("add.Tensor", {f32({2, 0}, {}), f32({}, {1})}), "float32[2, 0]");
}

TEST(Broadcasting, NamesTheSizesThatDoNotFit) {
  EXPECT_THROWN(
      aten("add.Tensor", {f32({2, 3}, {0, 0, 0, 0, 0, 0}), f32({4}, {0, 0, 0, 0})}), BadShape,
      "aten::add.Tensor: self is float32[2, 3] and other is float32[4], which do not broadcast: "
      "dimension -1 is 3 in one and 4 in the other, and must be equal or 1 in one of them");
  EXPECT_THROWN(aten("where.self", {b8({3}, {true, true, true}), f32({}, {1}), f32({2}, {1, 2})}),
                BadShape,
                "aten::where.self: condition is bool[3] and other is float32[2], which do not "
                "broadcast: dimension -1 is 3 in one and 2 in the other, and must be equal or 1 in "
                "one of them");
}

TEST(Strides, DoNotMatter) {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor transposed = aten_tensor("t", {x});  // [3, 2]: 1 4 2 5 3 6
  EXPECT_EQ(aten("add.Tensor", {transposed, transposed}), "float32[3, 2] 2 8 4 10 6 12");
  EXPECT_EQ(aten("mul.Tensor", {transposed, f32({2}, {1, 10})}), "float32[3, 2] 1 40 2 50 3 60");
  EXPECT_EQ(aten("neg", {transposed}), "float32[3, 2] -1 -4 -2 -5 -3 -6");
  EXPECT_EQ(aten("add.Tensor", {reversed({1, 2, 3}), f32({3}, {10, 20, 30})}),
            "float32[3] 11 22 33");
  const Tensor expanded = aten_tensor("expand", {f32({1}, {7}), ints({2, 2})});
  EXPECT_EQ(aten("add.Tensor", {expanded, expanded}), "float32[2, 2] 14 14 14 14");
  const Tensor every_other = aten_tensor("slice.Tensor", {x, 1, 0, 3, 2});
  EXPECT_EQ(aten("lt.Scalar", {every_other, 4}), "bool[2, 2] True True False False");
}

TEST(InPlace, WritesSelfReturnsItAndBumpsItsVersion) {
  const Tensor x = f32({2}, {1, 2});
  const std::uint32_t before = x.impl()->storage()->version();
  const Tensor result = aten_tensor("add_.Tensor", {x, f32({2}, {10, 20}), keyword("alpha", 2)});
  EXPECT_TRUE(result.same(x));
  EXPECT_EQ(show(x), "float32[2] 21 42");
  EXPECT_EQ(x.impl()->storage()->version(), before + 1);
  aten("sub_.Scalar", {x, 1});
  aten("mul_.Tensor", {x, f32({}, {2})});
  aten("div_.Scalar", {x, 4});
  EXPECT_EQ(show(x), "float32[2] 10 20.5");
  aten("relu_", {aten_tensor("sub_.Tensor", {x, f32({2}, {20, 0})})});
  EXPECT_EQ(show(x), "float32[2] 0 20.5");
}

TEST(InPlace, WritesThroughViews) {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  aten("mul_.Scalar", {aten_tensor("select.int", {x, 1, 1}), 10});
  EXPECT_EQ(show(x), "float32[2, 3] 1 20 3 4 50 6");
  aten("add_.Tensor", {aten_tensor("t", {x}), f32({2}, {100, 200})});
  EXPECT_EQ(show(x), "float32[2, 3] 101 120 103 204 250 206");
}

TEST(InPlace, ReadsOverlappingInputsAsTheyWereBefore) {
  const Tensor x = f32({4}, {1, 2, 3, 4});
  const Tensor head = aten_tensor("narrow", {x, 0, 0, 3}),
               tail = aten_tensor("narrow", {x, 0, 1, 3});
  aten("add_.Tensor", {tail, head});
  EXPECT_EQ(show(x), "float32[4] 1 3 5 7");
  const Tensor y = f32({2, 2}, {1, 2, 3, 4});
  aten("add_.Tensor", {y, aten_tensor("t", {y})});
  EXPECT_EQ(show(y), "float32[2, 2] 2 5 5 8");
  aten("mul_.Tensor", {y, aten_tensor("select.int", {y, 0, 0})});
  EXPECT_EQ(show(y), "float32[2, 2] 4 25 10 40");
  aten("copy_", {head, tail});
  EXPECT_EQ(show(x), "float32[4] 3 5 7 7");
}

TEST(InPlace, ComputesInThePromotedDtype) {
  const Tensor x = f32({2}, {1, 2});
  aten("add_.Tensor", {x, f64({2}, {0.5, 0.25})});
  EXPECT_EQ(show(x), "float32[2] 1.5 2.25");
  aten("add_.Tensor", {x, i64({2}, {1, 1})});
  EXPECT_EQ(show(x), "float32[2] 2.5 3.25");
}

TEST(InPlace, RefusesWhatSelfCannotHold) {
  const Tensor x = i64({2}, {1, 2});
  const std::uint32_t before = x.impl()->storage()->version();
  EXPECT_THROWN(aten("add_.Scalar", {x, 1.5}), BadArgument,
                "aten::add_.Scalar: self is int64[2] and the result is float32, which it cannot "
                "hold; use the operator that makes a new tensor, or convert self with "
                "aten::to.dtype first");
  EXPECT_THROWN(aten("div_.Scalar", {x, 2}), BadArgument,
                "aten::div_.Scalar: self is int64[2] and the result is float32, which it cannot "
                "hold; use the operator that makes a new tensor, or convert self with "
                "aten::to.dtype first");
  EXPECT_THROWN(aten("add_.Tensor", {x, i64({2, 2}, {1, 2, 3, 4})}), BadShape,
                "aten::add_.Tensor: the result is [2, 2] and does not fit self, which is int64[2]: "
                "self has 1 dimension, and must have 2");
  EXPECT_EQ(show(x), "int64[2] 1 2");
  EXPECT_EQ(x.impl()->storage()->version(), before) << "a refused call has changed nothing";
  EXPECT_THROWN(aten("add_.Scalar", {aten_tensor("expand", {f32({1}, {1}), ints({3})}), 1}),
                BadValue,
                "aten::add_.Scalar: self is float32[3] with strides [0], so that several of its "
                "elements are one place in memory and cannot be written; write to a copy, as "
                "aten::clone makes one");
}

TEST(InPlace, RefusesReadOnlyMemory) {
  float memory[2] = {1, 2};
  const std::int64_t size = 2, stride = 1;
  const Tensor x =
      Tensor::adopt(memory, {&size, 1}, {&stride, 1}, DType::Float32, {}, nullptr, nullptr, true);
  EXPECT_EQ(thrown_by([&] { aten("mul_.Scalar", {x, 2}); }).kind, ErrorKind::BadValue);
  EXPECT_EQ(show(x), "float32[2] 1 2");
  EXPECT_EQ(aten("mul.Scalar", {x, 2}), "float32[2] 2 4");
}

TEST(Out, IsWrittenAndMustHaveTheResultsSizes) {
  const Tensor x = f32({2}, {1, 2}), out = f64({2}, {0, 0});
  EXPECT_TRUE(aten_tensor("add.out", {x, x, keyword("out", out)}).same(out));
  EXPECT_EQ(show(out), "float64[2] 2 4");
  EXPECT_EQ(aten("mul.out", {x, x, keyword("out", x)}), "float32[2] 1 4");
  EXPECT_THROWN(aten("mul.out", {x, x, keyword("out", f32({3}, {0, 0, 0}))}), BadShape,
                "aten::mul.out: the result is [2] and does not fit out, which is float32[3]: "
                "dimension -1 of out is 3, and must be 2");
}

TEST(Numbers, ThatAreComplexAreRefusedByName) {
  const Tensor x = f32({2}, {1, 2});
  const Value z(std::complex<double>(0, 1));
  EXPECT_EQ(describe(aten_tensor("mul.Scalar", {x, z})), "complex64[2]");
  EXPECT_THROWN(aten("add.Tensor", {x, x, keyword("alpha", z)}), BadArgument,
                "aten::add.Tensor: alpha is 0.+1.j and the result is float32; accepted are a "
                "complex number where the result is complex, a float where it is a float or "
                "complex, an int everywhere, and a bool where it is bool");
  EXPECT_THROWN(aten("clamp", {x, z}), Unsupported,
                "aten::clamp: self is float32[2], min is 0.+1.j and max is inf, which is computed "
                "in complex64; accepted are inputs that are computed in uint8, int8, int16, int32, "
                "int64, float16, float32, float64, bfloat16, uint16, uint32, uint64");
  EXPECT_THROWN(aten("arange", {z}), Unsupported,
                "aten::arange: end is 0.+1.j; this kernel accepts bools, ints and floats");
  EXPECT_THROWN(
      aten("addmm", {f32({1, 1}, {1}), f32({1, 1}, {1}), f32({1, 1}, {1}), keyword("beta", z)}),
      Unsupported, "aten::addmm: beta is 0.+1.j; this kernel accepts bools, ints and floats");
}

Tensor in(DType dtype, const Tensor& x) { return aten_tensor("to.dtype", {x, dtype_value(dtype)}); }

TEST(DTypes, ThatAreCarriedHaveTheBitsOfTheirOwnWidth) {
  const Tensor bytes = in(DType::UInt8, i64({3}, {250, 3, 0})),
               ten = in(DType::UInt8, i64({1}, {10}));
  EXPECT_EQ(show(aten_tensor("add.Tensor", {bytes, ten})), "uint8[3] 4 13 10");
  EXPECT_EQ(show(aten_tensor("neg", {bytes})), "uint8[3] 6 253 0");
  EXPECT_EQ(show(aten_tensor("lt.Tensor", {bytes, ten})), "bool[3] False True True");
  const Tensor low = in(DType::Int8, i64({2}, {-128, 127}));
  EXPECT_EQ(show(in(DType::Int64, aten_tensor("abs", {low}))), "int64[2] -128 127");
  EXPECT_EQ(show(in(DType::Int64, aten_tensor("clamp", {low, Value(), 5}))), "int64[2] -128 5");
  EXPECT_THROWN(aten("add.Scalar", {low, 128}), BadValue,
                "aten::add.Scalar: other is 128, which does not fit into int8; accepted are -128 "
                "to 127");
  EXPECT_THROWN(aten("add.Tensor", {f32({2}, {1, 2}), Tensor()}), BadArgument,
                "aten::add.Tensor: other is an undefined tensor; pass a tensor");
}

// A long line crosses buffers; an expanded one and one with gaps are read where they are.
TEST(DTypes, ThatAreCarriedMayLieInAnyOrder) {
  const Tensor count = in(DType::Half, aten_tensor("arange", {600}));
  const Tensor table =
      count.as_strided(std::array<std::int64_t, 2>{2, 300}, std::array<std::int64_t, 2>{300, 1}, 0);
  const Tensor gaps =
      count.as_strided(std::array<std::int64_t, 2>{2, 300}, std::array<std::int64_t, 2>{0, 2}, 0);
  const Tensor sum = aten_tensor("sub.Tensor", {table, gaps});
  const Tensor wide = in(DType::Int64, sum);
  ASSERT_EQ(describe(sum), "float16[2, 300]");
  for (std::int64_t i = 0; i < 600; ++i) {
    ASSERT_EQ(wide.data<std::int64_t>()[i], i - i % 300 * 2) << i;
  }
  Tensor written = in(DType::Half, aten_tensor("arange", {600}));
  aten(
      "mul_.Scalar",
      {written.as_strided(std::array<std::int64_t, 1>{300}, std::array<std::int64_t, 1>{2}, 0), 0});
  const Tensor after = in(DType::Int64, written);
  for (std::int64_t i = 0; i < 600; ++i) {
    ASSERT_EQ(after.data<std::int64_t>()[i], i % 2 == 0 ? 0 : i) << i;
  }
}

TEST(DTypes, PromoteAsPyTorchHasIt) {
  const auto met = [](DType a, DType b) {
    const std::array<std::int64_t, 1> one = {1};
    return aten_tensor("mul.Tensor", {Tensor::empty(one, a), Tensor::empty(one, b)}).dtype();
  };
  EXPECT_EQ(met(DType::UInt8, DType::Int8), DType::Int16);
  EXPECT_EQ(met(DType::UInt8, DType::Int32), DType::Int32);
  EXPECT_EQ(met(DType::Int64, DType::Half), DType::Half);
  EXPECT_EQ(met(DType::Half, DType::BFloat16), DType::Float32);
  EXPECT_EQ(met(DType::Half, DType::Float64), DType::Float64);
  EXPECT_EQ(met(DType::BFloat16, DType::ComplexFloat), DType::ComplexFloat);
  EXPECT_EQ(met(DType::Float64, DType::ComplexFloat), DType::ComplexDouble);
  // Of a lower rank only the category counts.
  const Tensor ones = f32({2}, {1, 1}), wide = in(DType::ComplexDouble, f32({}, {1}));
  EXPECT_EQ(aten_tensor("mul.Tensor", {ones, wide}).dtype(), DType::ComplexFloat);
  EXPECT_EQ(aten_tensor("mul.Scalar", {in(DType::Int8, ones), 3}).dtype(), DType::Int8);
  EXPECT_EQ(aten_tensor("mul.Scalar", {in(DType::BFloat16, ones), 3.5}).dtype(), DType::BFloat16);
}

TEST(Order, OfDimensionsIsThatOfTheInputs) {
  const Tensor x = aten_tensor("t", {f32({2, 3}, {1, 2, 3, 4, 5, 6})});
  const auto strides = [](const Tensor& y) { return DimVector(y.strides()); };
  EXPECT_EQ(strides(aten_tensor("mul.Scalar", {x, 2})), (DimVector{1, 3}));
  EXPECT_EQ(show(aten_tensor("mul.Scalar", {x, 2})), "float32[3, 2] 2 8 4 10 6 12");
  // The first input that says something decides.
  EXPECT_EQ(strides(aten_tensor("add.Tensor", {f32({2}, {1, 2}), x})), (DimVector{1, 3}));
  EXPECT_EQ(strides(aten_tensor("add.Tensor", {f32({3, 2}, {1, 2, 3, 4, 5, 6}), x})),
            (DimVector{2, 1}));
  const Tensor gaps =
      f32({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})
          .as_strided(std::array<std::int64_t, 2>{2, 2}, std::array<std::int64_t, 2>{4, 2}, 0);
  EXPECT_EQ(strides(aten_tensor("neg", {gaps})), (DimVector{2, 1})) << "a result has no gaps";
}

}  // namespace
}  // namespace opyard::test_kernels_elementwise
