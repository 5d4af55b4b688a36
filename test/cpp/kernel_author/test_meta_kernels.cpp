// test_meta_kernels.cpp: protects loops and views of opyard/kernel.h on meta tensors. Suspect
// tensor/strided_loop.h, tensor/make.cpp, tensor/meta_call.cpp and Tensor::elements().
#include "opyard/kernel.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

#include "../symbolic.h"
#include "../thrown_by.h"
#include "opyard/value/sym_tensor.h"

namespace opyard::test_meta_kernels {
namespace {

using Sizes = std::vector<std::int64_t>;

Tensor on_meta(const Sizes& sizes, DType dtype = DType::Float32) {
  return Tensor::empty(sizes, dtype, {Backend::Meta});
}
Tensor counted(const Sizes& sizes) {
  const Tensor made = Tensor::empty(sizes);
  auto* const first = made.mutable_data<float>();
  std::iota(first, first + made.numel(), 0.0f);
  return made;
}
std::vector<float> elements(const Tensor& x) {
  std::vector<float> found;
  for_each([&](float element) { found.push_back(element); }, x);
  return found;
}
std::uint32_t version_of(const Tensor& x) { return x.impl()->storage()->version(); }

constexpr const char* kRemedies =
    " on meta, which has sizes and a dtype but no elements. A kernel returns its results before it "
    "touches elements if opyard::is_meta(x), or the operator gets a kernel of its own at Meta";

template <typename T>
void check_reduction_of() {
  SCOPED_TRACE(name_of(dtype_of<T>));
  const auto add = [](accumulate_t<T> sum, T a) { return sum + a; };
  const Tensor x = Tensor::empty(Sizes{2, 3000}, dtype_of<T>);
  fill(x, T(1));  // a sum in T stops at 2^11 or 2^8, where the next number is two further
  const Tensor sums = Tensor::empty(Sizes{2, 1}, dtype_of<T>);
  fill(sums, T(100));
  reduce(sums, accumulate_t<T>(0), add, x);
  EXPECT_EQ(float(sums.data<T>()[0]), float(T(3000)));
  EXPECT_EQ(float(sums.data<T>()[1]), float(T(3000)));
  const Tensor wide = Tensor::empty(Sizes{});
  reduce(wide, 0.0f, add, x);
  EXPECT_EQ(elements(wide), std::vector<float>{6000});
  const Tensor meta = on_meta({1}, dtype_of<T>);
  reduce(meta, 0.0f, add, on_meta({4}, dtype_of<T>));
  EXPECT_EQ(thrown_by([&] { reduce(meta, 0.0f, add, on_meta({4})); }).kind, ErrorKind::BadArgument);
  const Tensor other = Tensor::empty(Sizes{1}, DType::Float64);
  EXPECT_EQ(thrown_by([&] { reduce(other, 0.0f, add, x); }).kind, ErrorKind::BadArgument);
  const Tensor unlike = Tensor::empty(Sizes{3}, dtype_of<T>);
  EXPECT_EQ(thrown_by([&] { reduce(unlike, 0.0f, add, x); }).kind, ErrorKind::BadShape);
}

TEST(Loops, HalvesAreSummedInFloatAndRoundedOnce) {
  check_reduction_of<Half>();
  check_reduction_of<BFloat16>();
}

TEST(Loops, FillCopyAndReduce) {
  const Tensor x = counted({2, 3});
  const Tensor y = empty_like(x);
  fill(y, 4.0f);
  EXPECT_EQ(elements(y), std::vector<float>(6, 4));
  copy(y, transpose(counted({3, 2}), 0, 1));
  EXPECT_EQ(elements(y), (std::vector<float>{0, 2, 4, 1, 3, 5}));
  copy(y, select(x, 0, 1));
  EXPECT_EQ(elements(y), (std::vector<float>{3, 4, 5, 3, 4, 5}));
  const auto sum_to = [&](const Sizes& sizes) {
    const Tensor sum = Tensor::empty(sizes);
    fill(sum, 100.0f);  // is forgotten
    reduce(sum, 1.0f, [](float total, float a) { return total + a; }, x);
    return elements(sum);
  };
  EXPECT_EQ(sum_to({}), (std::vector<float>{16}));
  EXPECT_EQ(sum_to({3}), (std::vector<float>{4, 6, 8}));
  EXPECT_EQ(sum_to({2, 1}), (std::vector<float>{4, 13}));
  EXPECT_EQ(sum_to({2, 3}), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  const Tensor count = Tensor::empty(Sizes{1, 1}, DType::Int64);
  reduce(count, std::int64_t{0}, [](std::int64_t n, float a) { return n + (a > 2); }, x);
  EXPECT_EQ(*count.data<std::int64_t>(), 3);
  const Tensor of_none = Tensor::empty(Sizes{3});
  reduce(of_none, 7.0f, [](float, float a) { return a; }, counted({0, 3}));
  EXPECT_EQ(elements(of_none), std::vector<float>(3, 7));
}

TEST(Loops, RefuseWhatDoesNotFit) {
  const Tensor x = counted({2, 3});
  EXPECT_EQ(thrown_by([&] { copy(x, counted({2})); }).kind, ErrorKind::BadShape);
  EXPECT_EQ(thrown_by([&] { copy(x, Tensor::empty(Sizes{2, 3}, DType::Int64)); }).kind,
            ErrorKind::BadArgument);
  EXPECT_EQ(thrown_by([&] { fill(x, 1.0); }).kind, ErrorKind::BadArgument);
  const auto add = [](float total, float a) { return total + a; };
  const Thrown misfit = thrown_by([&] { reduce(Tensor::empty(Sizes{2}), 0.0f, add, x); });
  EXPECT_EQ(misfit.kind, ErrorKind::BadShape);
  EXPECT_EQ(misfit.text,
            std::string("reduce: the result is float32[2] and does not fit x, which is "
                        "float32[2, 3]: dimension -1 of the result is 2, and must be 3 or 1"));
}

TEST(OnMeta, X37_LoopsTakeSizesThatAreSymbolic) {
  const Tensor x = on_meta({2, 3}), y = on_meta({2, 3}), sum = on_meta({3});
  for (const Tensor* const each : {&x, &y}) {
    make_symbolic(*each, {Reasoner::symbol("n", 2), 3}, {3, 1}, 0);
  }
  const auto before = version_of(y);
  transform(y, [](float a) { return a; }, x);
  copy(y, x);
  fill(y, 1.0f);
  EXPECT_EQ(version_of(y), before + 3);
  reduce(sum, 0.0f, [](float a, float b) { return a + b; }, x);
  EXPECT_EQ(thrown_by([&] { transform(y, [](double a) { return a; }, x); }).kind,
            ErrorKind::BadArgument);
  const Tensor wide = empty_like(x, DType::Float64);
  EXPECT_EQ(wide.dtype(), DType::Float64);
  EXPECT_EQ(to_string(sym_sizes(wide)[0]), "n");
  EXPECT_EQ(to_string(sym_strides(wide)[0]), "3");
  const Thrown misfit = thrown_by([&] { transform(y, [](float a) { return a; }, on_meta({4})); });
  EXPECT_EQ(misfit.kind, ErrorKind::BadShape);
  EXPECT_NE(misfit.text.find("dimension -1 of an input is 4, and must be 3 or 1"),
            std::string::npos)
      << misfit.text;
}

TEST(OnMeta, X37_LoopsLookAtSizesAndDTypesAndDoNothing) {
  const Tensor x = on_meta({2, 3}), y = empty_like(x);
  EXPECT_TRUE(is_meta(y));
  const auto never = [](auto... arguments) -> float {
    ADD_FAILURE() << sizeof...(arguments);
    return 0;
  };
  transform(y, [&](float a) { return never(a); }, x);
  transform(y, [&](float a, float b) { return never(a, b); }, x, on_meta({3}));
  transform(y, [&](float a) { return never(a); }, counted({3}));
  fill(y, 1.0f);
  copy(y, x);
  copy(y, counted({2, 3}));
  reduce(on_meta({}), 0.0f, [&](float total, float a) { return never(total, a); }, x);
  EXPECT_EQ(thrown_by([&] { transform(y, [](float a) { return a; }, on_meta({2})); }).kind,
            ErrorKind::BadShape);
  EXPECT_EQ(thrown_by([&] { transform(y, [](double a) { return float(a); }, x); }).kind,
            ErrorKind::BadArgument);
  EXPECT_EQ(thrown_by([&] { transform(y, [](float a) { return double(a); }, x); }).kind,
            ErrorKind::BadArgument);
  EXPECT_EQ(thrown_by([&] { copy(y, on_meta({4})); }).kind, ErrorKind::BadShape);
  EXPECT_EQ(thrown_by([&] {
              reduce(on_meta({2}), 0.0f, [](float total, float a) { return total + a; }, x);
            }).kind,
            ErrorKind::BadShape);
}

TEST(OnMeta, X37_ViewsAndCopiesHaveTheirSizes) {
  const Tensor x = on_meta({2, 3});
  EXPECT_EQ(describe_sizes(transpose(x, 0, 1).sizes()), "[3, 2]");
  EXPECT_EQ(describe_sizes(select(narrow(x, 1, 1, 2), 0, 1).sizes()), "[2]");
  EXPECT_EQ(describe_sizes(expand(unsqueeze(x, 0), Sizes{4, -1, -1}).sizes()), "[4, 2, 3]");
  EXPECT_EQ(describe_sizes(flatten(transpose(x, 0, 1)).sizes()), "[6]");
  const Tensor row_major = contiguous(transpose(x, 0, 1));
  EXPECT_TRUE(is_meta(row_major) && row_major.is_contiguous());
  EXPECT_TRUE(is_meta(zeros_like(x)));
}

TEST(OnMeta, X37_EveryWayToElementsRaises) {
  const Tensor x = on_meta({2, 3});
  const std::string data = "data() of float32[2, 3]", loop = " of float32[2, 3]";
  EXPECT_EQ(thrown_by([&] { static_cast<void>(x.data<float>()); }).text, data + kRemedies);
  EXPECT_EQ(thrown_by([&] { x.mutable_data<float>(); }).text, data + kRemedies);
  EXPECT_EQ(thrown_by([&] { static_cast<void>(x.raw()); }).text, data + kRemedies);
  EXPECT_EQ(thrown_by([&] { x.mutable_raw(); }).text, data + kRemedies);
  EXPECT_EQ(thrown_by([&] { accessor<const float, 2>(x); }).text, "accessor" + loop + kRemedies);
  EXPECT_EQ(thrown_by([&] { accessor<float, 2>(x); }).kind, ErrorKind::Unsupported);
  EXPECT_EQ(thrown_by([&] { strided_data<float>(x); }).kind, ErrorKind::Unsupported);
  EXPECT_EQ(thrown_by([&] { mutable_strided_data<float>(x); }).kind, ErrorKind::Unsupported);
  EXPECT_EQ(thrown_by([&] { for_each([](float) {}, x); }).text, "for_each" + loop + kRemedies);
  EXPECT_EQ(thrown_by([&] { transform(counted({2, 3}), [](float a) { return a; }, x); }).text,
            "transform" + loop + kRemedies);
  EXPECT_EQ(thrown_by([&] { copy(counted({2, 3}), x); }).text, "copy" + loop + kRemedies);
  EXPECT_EQ(thrown_by([&] {
              reduce(counted({}), 0.0f, [](float total, float a) { return total + a; }, x);
            }).text,
            "reduce" + loop + kRemedies);
}

TEST(OnMeta, X37_NoElementsAreNoneToMiss) {
  const Tensor none = on_meta({0, 3});
  EXPECT_EQ(none.data<float>(), nullptr);
  EXPECT_EQ(none.mutable_raw(), nullptr);
  for_each([](float) { ADD_FAILURE(); }, none);
}

TEST(OnMeta, X37_AWriteIsCountedAllTheSame) {
  const Tensor x = on_meta({2}), here = counted({2});
  for (const Tensor& each : {x, here}) {
    const std::uint32_t before = version_of(each);
    each.count_write();
    EXPECT_EQ(version_of(each), before + 1);
    fill(each, 1.0f);
    transform(each, [](float a) { return a; }, each);
    copy(each, each);
    EXPECT_EQ(version_of(each), before + 4);
  }
}

}  // namespace
}  // namespace opyard::test_meta_kernels
