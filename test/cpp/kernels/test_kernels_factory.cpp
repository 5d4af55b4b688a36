// test/cpp/kernels/test_kernels_factory.cpp: protects tensors from nothing, conversion between dtypes, and
// single numbers. Suspect kernels/src/creation/.
#include <limits>

#include "../aten.h"

namespace opyard::test_kernels_factory {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Given dtype(DType dtype) { return keyword("dtype", dtype_value(dtype)); }

TEST(Factory, FillsNewTensors) {
  EXPECT_EQ(aten("zeros", {ints({2, 1})}), "float32[2, 1] 0 0");
  EXPECT_EQ(aten("ones", {ints({2}), dtype(DType::Int64)}), "int64[2] 1 1");
  EXPECT_EQ(aten("ones", {ints({1}), dtype(DType::Bool)}), "bool[1] True");
  EXPECT_EQ(aten("ones", {ints({})}), "float32[] 1");
  EXPECT_EQ(aten("zeros", {ints({0, 3})}), "float32[0, 3]");
  EXPECT_EQ(aten("full", {ints({2}), 7}), "int64[2] 7 7");
  EXPECT_EQ(aten("full", {ints({2}), 0.5}), "float32[2] 0.5 0.5");
  EXPECT_EQ(aten("full", {ints({1}), true}), "bool[1] True");
  EXPECT_EQ(aten("full", {ints({1}), 3, dtype(DType::Float64)}), "float64[1] 3");
  EXPECT_EQ(describe(aten_tensor("empty.memory_format", {ints({2, 3}), dtype(DType::UInt8)})),
            "uint8[2, 3]");
  EXPECT_EQ(aten("eye", {2}), "float32[2, 2] 1 0 0 1");
  EXPECT_EQ(aten("eye.m", {2, 3, dtype(DType::Int64)}), "int64[2, 3] 1 0 0 0 1 0");
  EXPECT_EQ(aten("eye.m", {3, 1}), "float32[3, 1] 1 0 0");
  EXPECT_EQ(aten("eye", {0}), "float32[0, 0]");
  EXPECT_TRUE(aten_tensor("zeros", {ints({2})}).keys().has(DispatchKey::CPU));
}

TEST(Factory, RefusesWhatItCannotMake) {
  EXPECT_THROWN(aten("zeros", {ints({2, -1})}), BadShape,
                "aten::zeros: sizes [2, -1] contain -1; a size must be 0 or more");
  EXPECT_THROWN(aten("full", {ints({1}), 300, dtype(DType::UInt8)}), BadValue,
                "aten::full: fill_value is 300, which does not fit into uint8; accepted are 0 to "
                "255");
  EXPECT_THROWN(aten("zeros", {ints({1}), keyword("pin_memory", true)}), Unsupported,
                "aten::zeros: pin_memory is True, and this library has no pinned memory; leave it "
                "out");
  EXPECT_THROWN(aten("zeros", {ints({1}), keyword("layout", 1)}), Unsupported,
                "aten::zeros: layout is number 1; accepted is strided (0)");
  EXPECT_THROWN(aten("empty.memory_format", {ints({1}), keyword("memory_format", 2)}), Unsupported,
                "aten::empty.memory_format: memory_format is number 2; accepted are "
                "contiguous_format (0) and preserve_format (1)");
}

TEST(Factory, TheDeviceArgumentPicksTheBackend) {
  const Value cpu = Device{Backend::CPU, -1}, meta = Device{Backend::Meta, -1},
              cuda = Device{Backend::CUDA, 0};
  EXPECT_EQ(aten_tensor("zeros", {ints({1}), keyword("device", cpu)}).device().backend,
            Backend::CPU);
  EXPECT_EQ(
      aten_tensor("empty.memory_format", {ints({1}), keyword("device", meta)}).device().backend,
      Backend::Meta);
  EXPECT_EQ(thrown_by([&] { aten("zeros", {ints({1}), keyword("device", cuda)}); }).kind,
            ErrorKind::NoKernel);
}

TEST(Factory, AnotherBackendOnlyRegistersItsOwnKernel) {
  load_library(kKernelsLibrary);
  Library mine(LibraryKind::Impl, "aten", DispatchKey::PrivateUse1);
  mine.impl(
      "zeros", +[](IntSpan size, std::optional<DType>, std::optional<Layout>, std::optional<Device>,
                   std::optional<bool>) {
        return f32({std::int64_t(size.size())}, std::vector<float>(size.size(), 42));
      });
  EXPECT_EQ(aten("zeros", {ints({5}), keyword("device", Device{Backend::PrivateUse1, -1})}),
            "float32[1] 42");
}

TEST(Factory, LikeAnotherTensor) {
  const Tensor x = i64({2, 1}, {1, 2});
  EXPECT_EQ(aten("zeros_like", {x}), "int64[2, 1] 0 0");
  EXPECT_EQ(aten("ones_like", {x, dtype(DType::Float64)}), "float64[2, 1] 1 1");
  EXPECT_EQ(aten("full_like", {x, 5}), "int64[2, 1] 5 5");
  EXPECT_EQ(describe(aten_tensor("empty_like", {x})), "int64[2, 1]");
  EXPECT_TRUE(aten_tensor("zeros_like", {aten_tensor("t", {x})}).is_contiguous());
}

TEST(Arange, CountsExactly) {
  EXPECT_EQ(aten("arange", {4}), "int64[4] 0 1 2 3");
  EXPECT_EQ(aten("arange", {0}), "int64[0]");
  EXPECT_EQ(aten("arange", {2.5}), "float32[3] 0 1 2");
  EXPECT_EQ(aten("arange.start", {2, 5}), "int64[3] 2 3 4");
  EXPECT_EQ(aten("arange.start_step", {0, 7, 3}), "int64[3] 0 3 6");
  EXPECT_EQ(aten("arange.start_step", {5, 0, -2}), "int64[3] 5 3 1");
  EXPECT_EQ(aten("arange.start_step", {0, 1, 0.25}), "float32[4] 0 0.25 0.5 0.75");
  EXPECT_EQ(aten("arange", {3, dtype(DType::Float64)}), "float64[3] 0 1 2");
  EXPECT_EQ(aten("arange", {2.5, dtype(DType::Int64)}), "int64[2] 0 1");
  EXPECT_EQ(aten("arange.start", {INT64_MAX - 1, INT64_MAX}), "int64[1] 9223372036854775806");
}

TEST(Arange, RefusesRangesWithoutAnEnd) {
  EXPECT_THROWN(aten("arange.start_step", {0, 1, 0}), BadValue,
                "aten::arange.start_step: start is 0, end is 1 and step is 0; step must not be 0");
  EXPECT_THROWN(aten("arange.start", {3, 1}), BadValue,
                "aten::arange.start: start is 3, end is 1 and step is 1; step must lead from start "
                "towards end");
  EXPECT_THROWN(aten("arange", {kInfinity}), BadValue,
                "aten::arange: start is 0, end is inf and step is 1; all three must be finite");
  EXPECT_THROWN(aten("arange.start", {INT64_MIN, INT64_MAX}), BadValue,
                "aten::arange.start: start is -9223372036854775808, end is 9223372036854775807 and "
                "step is 1; that is more elements than there can be");
  EXPECT_THROWN(aten("arange", {3, dtype(DType::Bool)}), Unsupported,
                "aten::arange: dtype is bool; accepted are integers and floats");
}

TEST(Conversion, BetweenDTypes) {
  const auto to = [](const Tensor& x, DType dtype) {
    return aten("to.dtype", {x, dtype_value(dtype)});
  };
  EXPECT_EQ(to(f32({3}, {1.9F, -1.9F, 0}), DType::Int64), "int64[3] 1 -1 0");
  EXPECT_EQ(to(f32({3}, {0.5, 0, -0.0F}), DType::Bool), "bool[3] True False False");
  EXPECT_EQ(to(i64({3}, {257, -1, 3}), DType::UInt8), "uint8[3] 1 255 3");
  EXPECT_EQ(to(i64({2}, {1LL << 32, -5}), DType::Int32), "int32[2] 0 -5");
  EXPECT_EQ(to(b8({2}, {true, false}), DType::Float64), "float64[2] 1 0");
  EXPECT_EQ(to(f64({3}, {kInfinity, 1e30, -kInfinity}), DType::Int64),
            "int64[3] -9223372036854775808 -9223372036854775808 -9223372036854775808");
  const Tensor bytes = aten_tensor("to.dtype", {i64({2}, {7, 255}), dtype_value(DType::UInt8)});
  EXPECT_EQ(to(bytes, DType::Float32), "float32[2] 7 255");
  const auto through = [&](const Tensor& x, DType between, DType dtype) {
    return to(aten_tensor("to.dtype", {x, dtype_value(between)}), dtype);
  };
  // Rounded to the nearest, ties to even; past 65504 and half a step there is infinity.
  const Tensor edges = f32({6}, {0.1F, 2049, 2051, 65519, 65520, 0x1p-25F});
  EXPECT_EQ(through(edges, DType::Half, DType::Float32),
            "float32[6] 0.0999756 2048 2052 65504 inf 0");
  EXPECT_EQ(through(edges, DType::BFloat16, DType::Float64),
            "float64[6] 0.1000976562 2048 2048 65536 65536 2.980232239e-08");
  EXPECT_EQ(
      through(f32({2}, {float(__builtin_nan("")), -float(kInfinity)}), DType::Half, DType::Float32),
      "float32[2] nan -inf");
  EXPECT_EQ(through(f32({2}, {-1.5F, 0}), DType::ComplexFloat, DType::Int64), "int64[2] -1 0");
  EXPECT_EQ(through(f32({2}, {-1.5F, 0}), DType::ComplexDouble, DType::Bool), "bool[2] True False");
}

TEST(Conversion, ToTheSameDTypeIsSelfUnlessACopyIsAsked) {
  const Tensor x = f32({2}, {1, 2});
  EXPECT_TRUE(aten_tensor("to.dtype", {x, dtype_value(DType::Float32)}).same(x));
  const Tensor copy = aten_tensor("to.dtype", {x, dtype_value(DType::Float32), false, true});
  EXPECT_FALSE(copy.same(x));
  EXPECT_EQ(show(copy), show(x));
}

TEST(Copy, WritesConvertsAndBroadcasts) {
  const Tensor x = f32({2, 2}, {0, 0, 0, 0});
  EXPECT_TRUE(aten_tensor("copy_", {x, i64({2}, {1, 2})}).same(x));
  EXPECT_EQ(show(x), "float32[2, 2] 1 2 1 2");
  const Tensor half = Tensor::empty(Sizes{2}, DType::Half);
  EXPECT_EQ(describe(aten_tensor("copy_", {half, half})), "float16[2]");
  EXPECT_THROWN(aten("copy_", {f32({2}, {0, 0}), x}), BadShape,
                "aten::copy_: src is float32[2, 2] and does not fit self, which is float32[2]: src "
                "has 2 dimensions, and must have at most 1");
}

TEST(Fill, WritesEveryElement) {
  const Tensor x = f32({2, 2}, {1, 2, 3, 4});
  aten("fill_.Scalar", {aten_tensor("select.int", {x, 1, 0}), 9});
  EXPECT_EQ(show(x), "float32[2, 2] 9 2 9 4");
  EXPECT_TRUE(aten_tensor("zero_", {x}).same(x));
  EXPECT_EQ(show(x), "float32[2, 2] 0 0 0 0");
  EXPECT_EQ(x.impl()->storage()->version(), 2U);
  EXPECT_EQ(aten("fill_.Scalar", {i64({1}, {0}), 2.9}), "int64[1] 2");
}

TEST(Item, IsTheNumberOfATensorOfOneElement) {
  EXPECT_EQ(aten("item", {f32({1, 1}, {1.5})}), "1.5");
  EXPECT_EQ(aten("item", {i64({}, {-3})}), "-3");
  EXPECT_EQ(aten("item", {b8({}, {true})}), "True");
  EXPECT_EQ(aten("is_nonzero", {f32({1}, {0})}), "False");
  EXPECT_EQ(aten("is_nonzero", {i64({}, {2})}), "True");
  EXPECT_THROWN(aten("item", {f32({2}, {1, 2})}), BadValue,
                "aten::item: self is float32[2], which has 2 elements; a number can be taken from "
                "a tensor of exactly one");
  EXPECT_THROWN(aten("is_nonzero", {f32({2}, {1, 2})}), BadValue,
                "aten::is_nonzero: self is float32[2], whose truth is ambiguous; accepted is a "
                "tensor of one element, and aten::any and aten::all make one of many");
}

}  // namespace
}  // namespace opyard::test_kernels_factory
