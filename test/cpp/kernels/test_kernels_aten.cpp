// test/cpp/kernels/test_kernels_aten.cpp: protects opyard/aten.h: each function calls its operator, with
// the defaults of the schema and the errors of the call. Suspect jit/src/text/typed_calls.cpp.
#include <opyard/aten.h>

#include <type_traits>

#include "../aten.h"

namespace opyard::test_kernels_aten {
namespace {

class AtenHeader : public testing::Test {
 protected:
  AtenHeader() { load_library(kKernelsLibrary); }
};

TEST_F(AtenHeader, OverloadsAreChosenByTheirTypes) {
  const Tensor x = f32({2}, {1, 2}), y = f32({2}, {10, 20});
  EXPECT_EQ(show(aten::add(x, y)), "float32[2] 11 22");
  EXPECT_EQ(show(aten::add(x, 1)), "float32[2] 2 3");
  EXPECT_EQ(show(aten::add(x, y, 0.5)), "float32[2] 6 12");
  EXPECT_EQ(show(aten::pow(x, 2)), "float32[2] 1 4");
  EXPECT_EQ(show(aten::pow(Scalar(2), x)), "float32[2] 2 4");
}

TEST_F(AtenHeader, DefaultsAreThoseOfTheSchema) {
  const Tensor x = f32({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(show(aten::sum(x)), "float32[] 10");
  EXPECT_EQ(show(aten::rot90(x)), "float32[2, 2] 2 4 1 3") << "dims=[0, 1]";
  EXPECT_EQ(show(aten::clamp(x, Scalar(2))), "float32[2, 2] 2 2 3 4") << "max=None";
  const auto [values, indices] = aten::max(x, 0);
  EXPECT_EQ(show(values), "float32[2] 3 4");
  EXPECT_EQ(show(indices), "int64[2] 1 1");
}

TEST_F(AtenHeader, WhatIsWrittenIsGivenBack) {
  Tensor x = f32({2}, {1, 2}), out = f32({2}, {0, 0});
  EXPECT_TRUE(aten::add_(x, x).same(x));
  EXPECT_EQ(show(x), "float32[2] 2 4");
  EXPECT_TRUE(aten::sin_out(f32({2}, {0, 0}), out).same(out));
  EXPECT_EQ(show(out), "float32[2] 0 0");
}

TEST_F(AtenHeader, ErrorsAreThoseOfTheOperator) {
  EXPECT_THROWN(
      aten::select(f32({2}, {1, 2}), 1, 0), BadIndex,
      "aten::select.int: dimension 1 is out of range for a tensor of 1 dimension; accepted "
      "are -1 to 0");
}

}  // namespace
}  // namespace opyard::test_kernels_aten
