// test/cpp/kernel_author/test_kernel_author.cpp: protects opyard/kernel.h for authors of kernels, with the checks of a library under work.
// Suspect dispatcher/src/tensor/views.cpp and kernel_refusals.cpp.
#define OPYARD_CHECKED
#include "opyard/kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "../thrown_by.h"

namespace opyard::test_kernel_author {
namespace {

Tensor counted(std::initializer_list<std::int64_t> sizes) {
  const DimVector all(sizes);
  Tensor made = Tensor::empty(all);
  std::iota(made.mutable_data<float>(), made.mutable_data<float>() + made.numel(), 0.0f);
  return made;
}

std::vector<float> elements(const Tensor& x) {
  std::vector<float> found;
  for_each([&](float element) { found.push_back(element); }, x);
  return found;
}

using Floats = std::vector<float>;

TEST(Views, ShowTheSameMemoryUnderAnotherGeometry) {
  const Tensor x = counted({2, 3});
  EXPECT_EQ(elements(select(x, 0, 1)), (Floats{3, 4, 5}));
  EXPECT_EQ(elements(select(x, -1, -1)), (Floats{2, 5}));
  EXPECT_EQ(elements(narrow(x, 1, 1, 2)), (Floats{1, 2, 4, 5}));
  EXPECT_EQ(elements(narrow(x, 1, -1, 1)), (Floats{2, 5}));
  EXPECT_EQ(narrow(x, 1, 3, 0).numel(), 0);
  EXPECT_EQ(elements(transpose(x, 0, 1)), (Floats{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(elements(permute(x, std::array<std::int64_t, 2>{-1, 0})), (Floats{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(unsqueeze(x, -1).dim(), 3);
  EXPECT_EQ(unsqueeze(x, 1).size(1), 1);
  EXPECT_EQ(elements(expand(select(x, 0, 0), std::array<std::int64_t, 2>{2, -1})),
            (Floats{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(view(x, std::array<std::int64_t, 2>{3, -1}).size(1), 2);
  EXPECT_TRUE(select(x, 0, 1).impl()->storage().get() == x.impl()->storage().get());
}

TEST(Views, AreMethodsOfTensorsToo) {
  const Tensor x = counted({2, 3});
  const auto same = [](const Tensor& one, const Tensor& other) {
    EXPECT_EQ(elements(one), elements(other));
    EXPECT_TRUE(std::ranges::equal(one.sizes(), other.sizes()));
    EXPECT_TRUE(std::ranges::equal(one.strides(), other.strides()));
  };
  const std::array<std::int64_t, 2> dims{1, 0}, sizes{3, 2}, wide{4, 2};
  same(x.select(0, 1), select(x, 0, 1));
  same(x.narrow(1, 1, 2), narrow(x, 1, 1, 2));
  same(x.transpose(0, 1), transpose(x, 0, 1));
  same(x.permute(dims), permute(x, dims));
  same(x.unsqueeze(1), unsqueeze(x, 1));
  same(x.select(1, 0).expand(wide), expand(select(x, 1, 0), wide));
  same(x.view(sizes), view(x, sizes));
  same(x.transpose(0, 1).flatten(), flatten(transpose(x, 0, 1)));
  same(counted({2, 3, 4}).flatten(1), flatten(counted({2, 3, 4}), 1));
  same(x.transpose(0, 1).contiguous(), contiguous(transpose(x, 0, 1)));
  EXPECT_TRUE(x.contiguous().same(x));
}

TEST(Views, RefuseWhatIsNotThere) {
  const Tensor x = counted({2, 3});
  EXPECT_EQ(
      thrown_by([&] { select(x, 2, 0); }).text,
      std::string("select of float32[2, 3]: dimension 2 is out of range; accepted are -2 to 1"));
  EXPECT_EQ(
      thrown_by([&] { select(x, 0, 2); }).text,
      std::string("select of float32[2, 3]: index 2 is out of range for dimension 0 of size 2"));
  EXPECT_EQ(thrown_by([&] { narrow(x, 1, 2, 2); }).text,
            std::string(
                "narrow of float32[2, 3]: 2 elements from 2 on are not in dimension 1 of size 3"));
  EXPECT_EQ(thrown_by([&] { permute(x, std::array<std::int64_t, 2>{0, 0}); }).kind,
            ErrorKind::BadShape);
  EXPECT_EQ(thrown_by([&] { view(x, std::array<std::int64_t, 1>{5}); }).kind, ErrorKind::BadShape);
  EXPECT_EQ(
      thrown_by([&] { view(transpose(x, 0, 1), std::array<std::int64_t, 1>{6}); }).text,
      std::string(
          "view of float32[3, 2] with strides [1, 3] as [6]: its elements are not ordered so; "
          "take view(contiguous(x), sizes), which copies them"));
}

TEST(Make, ContiguousCopiesOnlyWhatIsNot) {
  const Tensor x = counted({2, 3});
  EXPECT_TRUE(contiguous(x).same(x));
  const Tensor turned = contiguous(transpose(x, 0, 1));
  EXPECT_TRUE(turned.is_contiguous());
  EXPECT_EQ(elements(turned), (Floats{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(flatten(x).sizes().size(), 1u);
  EXPECT_EQ(elements(flatten(transpose(x, 0, 1))), (Floats{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(flatten(counted({2, 3, 4}), 1).size(1), 12);
  EXPECT_EQ(elements(zeros_like(x)), Floats(6, 0));
  EXPECT_EQ(empty_like(turned, DType::Int64).dtype(), DType::Int64);
}

TEST(Make, CopiesEveryDTypeByItsBytes) {
  const std::int64_t sizes[] = {2, 2};
#define OPYARD_DTYPE(code, name, python, type, dlpack, bits, ...)                               \
  {                                                                                             \
    const Tensor x = Tensor::empty(sizes, DType::name);                                         \
    auto* bytes = static_cast<unsigned char*>(x.mutable_raw());                                 \
    for (std::size_t i = 0; i < 4 * item_size(DType::name); ++i) bytes[i] = (unsigned char)(i); \
    const Tensor y = contiguous(transpose(x, 0, 1));                                            \
    EXPECT_EQ(std::memcmp(static_cast<const unsigned char*>(y.raw()) + item_size(DType::name),  \
                          bytes + 2 * item_size(DType::name), item_size(DType::name)),          \
              0);                                                                               \
  }
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
}

TEST(Accessors, GoByStridesAndWriteInPlace) {
  const Tensor x = counted({2, 3});
  const auto turned = accessor<const float, 2>(transpose(x, 0, 1));
  EXPECT_EQ(turned(2, 1), 5);
  EXPECT_EQ(turned[1](1), 4);
  EXPECT_EQ(turned[0][1], 3);
  const std::uint32_t version = x.impl()->storage()->version();
  accessor<float, 2>(x)(0, 1) = 7;
  EXPECT_EQ(elements(x), (Floats{0, 7, 2, 3, 4, 5}));
  EXPECT_NE(x.impl()->storage()->version(), version);
  EXPECT_EQ(thrown_by([&] { turned(0, 2); }).text,
            std::string("accessor: index 2 of a dimension of size 2"));
  EXPECT_EQ(thrown_by([&] { accessor<const double, 2>(x); }).kind, ErrorKind::BadArgument);
  EXPECT_EQ(thrown_by([&] { accessor<const float, 1>(x); }).text,
            std::string("an accessor for 1 dimension of float32[2, 3]"));
  EXPECT_EQ(thrown_by([&] { accessor<const float, 1>(Tensor()); }).kind, ErrorKind::BadArgument);
}

TEST(CheckedBuilds, DataAsksForContiguity) {
  const Tensor x = counted({2, 3});
  EXPECT_EQ(*x.data<float>(), 0);
  const Tensor turned = transpose(x, 0, 1);
  EXPECT_EQ(
      thrown_by([&] { turned.data<float>(); }).text,
      std::string("data() of float32[3, 2] with strides [1, 3]: its elements do not follow each "
                  "other; take contiguous(x).data(), or an accessor or a loop of opyard/kernel.h"));
  EXPECT_EQ(thrown_by([&] { turned.mutable_data<float>(); }).kind, ErrorKind::BadValue);
}

TEST(StridedLoops, VisitEveryElementOfEveryGeometry) {
  const Tensor x = counted({2, 3, 4});
  for (const Tensor& each :
       {x, transpose(x, 0, 2), transpose(x, 1, 2), narrow(x, 2, 1, 2), select(x, 1, 2),
        narrow(x, 0, 0, 0), expand(narrow(x, 1, 0, 1), x.sizes()),
        select(select(select(x, 0, 1), 0, 2), 0, 3)}) {
    const Tensor y = empty_like(each);
    transform(y, [](float a) { return 2 * a; }, each);
    Floats wanted = elements(contiguous(each));
    for (float& a : wanted) a *= 2;
    EXPECT_EQ(elements(y), wanted) << describe(each);
    EXPECT_EQ(std::int64_t(wanted.size()), each.numel());
  }
}

TEST(StridedLoops, BroadcastAndConvert) {
  const Tensor x = counted({2, 3});
  const Tensor less = Tensor::empty(x.sizes(), DType::Bool);
  transform(less, [](float a, float b) { return a < b; }, x, expand(select(x, 0, 0), x.sizes()));
  transform(less, [](float a, float b) { return a <= b; }, x, select(x, 0, 0));
  EXPECT_TRUE(less.data<bool>()[2]);
  EXPECT_FALSE(less.data<bool>()[3]);
  const Tensor turned = transpose(Tensor::empty(std::array<std::int64_t, 2>{3, 2}), 0, 1);
  transform(turned, [](float a) { return a + 1; }, x);
  EXPECT_EQ(elements(turned), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(
      thrown_by([&] { transform(select(x, 0, 0), [](float a) { return a; }, x); }).text,
      std::string("transform: an input is float32[2, 3] and does not fit the result, which is [3]: "
                  "an input has 2 dimensions, and must have at most 1"));
  EXPECT_EQ(thrown_by([&] { transform(less, [](float a) { return a; }, x); }).kind,
            ErrorKind::BadArgument);
}

TEST(DispatchOverDTypes, RunsTheBodyOfTheDTypeOrNamesThem) {
  const auto size = [](DType dtype) {
    return dispatch_dtypes<float, double, std::int64_t>(dtype, "demo::f",
                                                        []<typename T>() { return sizeof(T); });
  };
  EXPECT_EQ(size(DType::Float32), 4u);
  EXPECT_EQ(size(DType::Int64), 8u);
  EXPECT_EQ(
      thrown_by([&] { size(DType::Bool); }).text,
      std::string("demo::f: no kernel for bool; accepted are float32, float64 and int64. Convert "
                  "the argument first."));
}

TEST(Require, PutsItsMessageTogetherFromParts) {
  const Tensor x = counted({2, 3});
  const Thrown error = thrown_by([&] {
    OPYARD_REQUIRE(x.dim() == 1, BadShape, "demo::f: x is ", x, " of ", x.dtype(), " on ",
                   x.device(), "; ", 1, " dimension or ", 2.5, " or ", true, " is needed");
  });
  EXPECT_EQ(error.kind, ErrorKind::BadShape);
  EXPECT_EQ(error.text,
            std::string("demo::f: x is float32[2, 3] of float32 on cpu; 1 dimension or 2.5 "
                        "or True is needed"));
  OPYARD_REQUIRE(x.dim() == 2, BadShape, "not built");
}

}  // namespace
}  // namespace opyard::test_kernel_author
