// test/cpp/kernels/test_aten_header.cpp: protects opyard/aten.h: functions call operators, with
// the defaults of the schema and the errors of the call. Suspect jit/src/text/typed_calls.cpp.
#include <gtest/gtest.h>
#include <opyard/aten.h>
#include <opyard/plugin/plugin.h>

#include <vector>

#include "../folder.h"
#include "../thrown_by.h"

namespace opyard::test_aten_header {
namespace {

using Sizes = std::vector<std::int64_t>;
using Numbers = std::vector<float>;

Tensor tensor(const Sizes& sizes, const Numbers& numbers) {
  Tensor made = Tensor::empty(sizes, DType::Float32);
  std::copy(numbers.begin(), numbers.end(), static_cast<float*>(made.impl()->data()));
  return made;
}
Numbers numbers(const Tensor& given) {
  const Tensor row = aten::contiguous(given);
  const auto* const data = static_cast<const float*>(row.impl()->data());
  return {data, data + row.numel()};
}

class AtenHeader : public testing::Test {
 protected:
  AtenHeader() { load_library(kKernelsLibrary); }
};

TEST_F(AtenHeader, OverloadsAreChosenByTheirTypes) {
  const Tensor x = tensor({2}, {1, 2}), y = tensor({2}, {10, 20});
  EXPECT_EQ(numbers(aten::add(x, y)), Numbers({11, 22}));
  EXPECT_EQ(numbers(aten::add(x, 1)), Numbers({2, 3}));
  EXPECT_EQ(numbers(aten::add(x, y, 0.5)), Numbers({6, 12}));
  EXPECT_EQ(numbers(aten::pow(x, 2)), Numbers({1, 4}));
  EXPECT_EQ(numbers(aten::pow(Scalar(2), x)), Numbers({2, 4}));
}

TEST_F(AtenHeader, DefaultsAreThoseOfTheSchema) {
  const Tensor x = tensor({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(numbers(aten::sum(x)), Numbers({10}));
  EXPECT_EQ(numbers(aten::rot90(x)), Numbers({2, 4, 1, 3})) << "dims=[0, 1]";
  EXPECT_EQ(numbers(aten::clamp(x, Scalar(2))), Numbers({2, 2, 3, 4})) << "max=None";
  EXPECT_EQ(numbers(std::get<0>(aten::max(x, 0))), Numbers({3, 4})) << "keepdim=False";
  EXPECT_EQ(numbers(aten::dist(x, aten::zeros_like(x), Scalar(1))), Numbers({10})) << "a body";
}

TEST_F(AtenHeader, WhatIsWrittenIsGivenBack) {
  Tensor x = tensor({2}, {1, 2}), out = tensor({2}, {7, 7});
  EXPECT_TRUE(aten::add_(x, x).same(x));
  EXPECT_EQ(numbers(x), Numbers({2, 4}));
  EXPECT_TRUE(aten::sin_out(tensor({2}, {0, 0}), out).same(out));
  EXPECT_EQ(numbers(out), Numbers({0, 0}));
}

TEST_F(AtenHeader, ErrorsAreThoseOfTheOperator) {
  EXPECT_THROWN(
      aten::select(tensor({2}, {1, 2}), 1, 0), BadIndex,
      "aten::select.int: dimension 1 is out of range for a tensor of 1 dimension; accepted "
      "are -1 to 0");
}

}  // namespace
}  // namespace opyard::test_aten_header
