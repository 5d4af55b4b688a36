// test/cpp/kernels/test_kernels_indexing.cpp: protects indexing by tensors, gathering and joining: where
// new dimensions go, and that a wrong index is named with its place. Suspect kernels/src/indexing/.
#include "../aten.h"

namespace opyard::test_kernels_indexing {
namespace {

Tensor matrix() { return f32({3, 2}, {1, 2, 3, 4, 5, 6}); }
Tensor cube() {
  std::vector<std::int64_t> values;
  for (int i = 0; i < 24; ++i) values.push_back(i);
  return i64({2, 3, 4}, values);
}

std::string index(const Tensor& self, std::vector<Value> indices) {
  return aten("index.Tensor", {self, Value::list(std::move(indices))});
}

TEST(Index, ByPositionsInOneDimension) {
  EXPECT_EQ(index(matrix(), {i64({4}, {2, 0, -1, 1})}), "float32[4, 2] 5 6 1 2 5 6 3 4");
  EXPECT_EQ(index(matrix(), {Value(), i64({1}, {1})}), "float32[3, 1] 2 4 6");
  EXPECT_EQ(index(matrix(), {i64({2, 2}, {0, 1, 1, 2})}), "float32[2, 2, 2] 1 2 3 4 3 4 5 6");
  EXPECT_EQ(index(matrix(), {i64({}, {1})}), "float32[2] 3 4");
  EXPECT_EQ(index(matrix(), {i64({0}, {})}), "float32[0, 2]");
  EXPECT_EQ(index(aten_tensor("t", {matrix()}), {i64({2}, {1, 0})}), "float32[2, 3] 2 4 6 1 3 5");
  EXPECT_EQ(index(aten_tensor("t", {matrix()}), {Value(), i64({2}, {2, 0})}),
            "float32[2, 2] 5 1 6 2");
}

TEST(Index, ByPositionsInSeveralDimensions) {
  EXPECT_EQ(index(matrix(), {i64({3}, {0, 1, 2}), i64({3}, {1, 0, 1})}), "float32[3] 2 3 6");
  EXPECT_EQ(index(matrix(), {i64({2, 1}, {0, 2}), i64({2}, {0, 1})}), "float32[2, 2] 1 2 5 6");
  // Neighbours stay where they were; others come first.
  EXPECT_EQ(index(cube(), {Value(), i64({2}, {0, 2}), i64({2}, {3, 1})}), "int64[2, 2] 3 9 15 21");
  EXPECT_EQ(index(cube(), {i64({1}, {1}), Value(), i64({1}, {3})}), "int64[1, 3] 15 19 23");
}

TEST(Index, ByMasks) {
  EXPECT_EQ(index(matrix(), {b8({3}, {true, false, true})}), "float32[2, 2] 1 2 5 6");
  EXPECT_EQ(index(matrix(), {b8({3, 2}, {true, false, false, true, true, false})}),
            "float32[3] 1 4 5");
  EXPECT_EQ(index(matrix(), {Value(), b8({2}, {false, true})}), "float32[3, 1] 2 4 6");
  EXPECT_EQ(index(matrix(), {b8({3}, {false, false, false})}), "float32[0, 2]");
  EXPECT_EQ(index(matrix(), {b8({3}, {true, false, true}), i64({}, {1})}), "float32[2] 2 6");
  EXPECT_THROWN(index(matrix(), {b8({2}, {true, false})}), BadIndex,
                "aten::index.Tensor: indices[0] is bool[2], a mask from dimension 0 on of self, "
                "which is float32[3, 2]; a mask must have the sizes of the dimensions that it "
                "covers");
}

TEST(Index, NamesThePlaceOfAWrongPosition) {
  EXPECT_THROWN(index(matrix(), {Value(), i64({2, 2}, {0, 1, 7, 0})}), BadIndex,
                "aten::index.Tensor: indices[1] contains 7 at [1, 0], out of range for dimension 1 "
                "of self, which is float32[3, 2]; accepted are -2 to 1");
  EXPECT_THROWN(index(f32({0}, {}), {i64({1}, {0})}), BadIndex,
                "aten::index.Tensor: indices[0] contains 0 at [0], out of range for dimension 0 of "
                "self, which is float32[0]; it has no elements");
  EXPECT_THROWN(
      index(matrix(), {i64({2}, {0, 1}), i64({3}, {0, 1, 0})}), BadShape,
      "aten::index.Tensor: indices[0] is int64[2] and indices[1] is int64[3], which do not "
      "broadcast: dimension -1 is 2 in one and 3 in the other, and must be equal or 1 in one of "
      "them");
  EXPECT_THROWN(index(matrix(), {f32({1}, {0})}), BadArgument,
                "aten::index.Tensor: indices[0] is float32[1]; accepted are bool, int64 and int32");
  EXPECT_THROWN(
      index(matrix(), {Value(), Value()}), BadValue,
      "aten::index.Tensor: every index is None; give a tensor for at least one dimension");
  EXPECT_THROWN(index(matrix(), {i64({}, {0}), i64({}, {0}), i64({}, {0})}), BadIndex,
                "aten::index.Tensor: indices are given for 3 dimensions of self, which is "
                "float32[3, 2] and has 2");
}

TEST(Index, WorksOnEveryDType) {
  Tensor x = Tensor::empty(Sizes{3}, DType::Int32);
  for (int i = 0; i < 3; ++i) x.mutable_data<std::int32_t>()[i] = i * 10;
  EXPECT_EQ(index(x, {i64({2}, {2, 1})}), "int32[2] 20 10");
  const Tensor half = Tensor::empty(Sizes{3, 2}, DType::Half);
  EXPECT_EQ(describe(aten_tensor("index_select", {half, 0, i64({1}, {2})})), "float16[1, 2]");
}

TEST(IndexPut, WritesToPositionsAndMasks) {
  const auto put = [](const Tensor& self, std::vector<Value> indices, const Tensor& values,
                      bool accumulate) {
    return aten("index_put_", {self, Value::list(std::move(indices)), values, accumulate});
  };
  EXPECT_EQ(put(matrix(), {i64({2}, {2, 0})}, f32({2, 2}, {10, 20, 30, 40}), false),
            "float32[3, 2] 30 40 3 4 10 20");
  EXPECT_EQ(put(matrix(), {Value(), i64({1}, {-1})}, f32({}, {9}), false),
            "float32[3, 2] 1 9 3 9 5 9");
  EXPECT_EQ(
      put(matrix(), {b8({3, 2}, {true, false, false, false, false, true})}, f32({}, {0}), false),
      "float32[3, 2] 0 2 3 4 5 0");
  EXPECT_EQ(put(matrix(), {i64({3}, {1, 1, 1})}, f32({3, 1}, {7, 8, 9}), false),
            "float32[3, 2] 1 2 9 9 5 6");
  EXPECT_EQ(put(matrix(), {i64({3}, {1, 1, 0})}, f32({}, {10}), true),
            "float32[3, 2] 11 12 23 24 5 6");
  const Tensor x = matrix(), turned = aten_tensor("t", {x});
  put(turned, {i64({1}, {1})}, f32({3}, {-1, -2, -3}), false);
  EXPECT_EQ(show(x), "float32[3, 2] 1 -1 3 -2 5 -3");
  EXPECT_EQ(x.impl()->storage()->version(), 1U);
  EXPECT_EQ(
      put(cube(), {Value(), Value(), i64({1}, {0})}, i64({}, {100}), true),
      "int64[2, 3, 4] 100 1 2 3 104 5 6 7 108 9 10 11 112 13 14 15 116 17 18 19 120 21 22 23");
}

TEST(IndexPut, RefusesWhatDoesNotFit) {
  const Value places = Value::list({Value(i64({2}, {0, 1}))});
  EXPECT_THROWN(aten("index_put_", {matrix(), places, f32({3}, {1, 2, 3})}), BadShape,
                "aten::index_put_: values is float32[3] and does not fit the indexed part of self, "
                "which is [2, 2]: dimension -1 of values is 3, and must be 2 or 1");
  EXPECT_THROWN(aten("index_put_", {matrix(), places, i64({}, {1})}), BadArgument,
                "aten::index_put_: values is int64[]; its dtype must be float32");
}

TEST(IndexSelect, TakesRows) {
  EXPECT_EQ(aten("index_select", {matrix(), 0, i64({3}, {2, 2, 0})}), "float32[3, 2] 5 6 5 6 1 2");
  EXPECT_EQ(aten("index_select", {matrix(), 1, i64({1}, {1})}), "float32[3, 1] 2 4 6");
  EXPECT_EQ(aten("index_select", {matrix(), 0, i64({}, {1})}), "float32[1, 2] 3 4");
  EXPECT_EQ(aten("index_select", {f32({}, {7}), 0, i64({1}, {0})}), "float32[] 7");
  EXPECT_THROWN(aten("index_select", {matrix(), 0, i64({2}, {0, -1})}), BadIndex,
                "aten::index_select: index contains -1 at [1], out of range for dimension 0 of "
                "self, which is float32[3, 2]; accepted are 0 to 2");
  EXPECT_THROWN(aten("index_select", {matrix(), 0, i64({1, 1}, {0})}), BadShape,
                "aten::index_select: index is int64[1, 1]; accepted is one dimension");
}

TEST(Gather, PicksAlongADimension) {
  EXPECT_EQ(aten("gather", {matrix(), 1, i64({3, 1}, {1, 0, 1})}), "float32[3, 1] 2 3 6");
  EXPECT_EQ(aten("gather", {matrix(), 0, i64({1, 2}, {2, 0})}), "float32[1, 2] 5 2");
  EXPECT_EQ(aten("gather", {aten_tensor("t", {matrix()}), 1, i64({2, 2}, {0, 2, 1, 1})}),
            "float32[2, 2] 1 5 4 4");
  EXPECT_EQ(aten("gather", {f32({}, {3}), 0, i64({}, {0})}), "float32[] 3");
  EXPECT_THROWN(aten("gather", {matrix(), 1, i64({3, 1}, {1, 2, 1})}), BadIndex,
                "aten::gather: index contains 2 at [1, 0], out of range for dimension 1 of self, "
                "which is float32[3, 2]; accepted are 0 to 1");
  EXPECT_THROWN(aten("gather", {matrix(), 1, i64({4, 1}, {0, 0, 0, 0})}), BadShape,
                "aten::gather: self is float32[3, 2] and index is int64[4, 1]; index must have as "
                "many dimensions, none of them larger than self's but dimension 1");
}

TEST(Cat, JoinsAlongADimension) {
  const Tensor x = f32({1, 2}, {1, 2}), y = f32({2, 2}, {3, 4, 5, 6});
  EXPECT_EQ(aten("cat", {tensors({x, y})}), "float32[3, 2] 1 2 3 4 5 6");
  EXPECT_EQ(aten("cat", {tensors({y, aten_tensor("t", {y})}), -1}),
            "float32[2, 4] 3 4 3 5 5 6 4 6");
  EXPECT_EQ(aten("cat", {tensors({i64({1}, {1}), f32({1}, {0.5})})}), "float32[2] 1 0.5");
  EXPECT_EQ(aten("cat", {tensors({f32({0}, {}), y})}), "float32[2, 2] 3 4 5 6");
  EXPECT_EQ(aten("cat", {tensors({f32({0}, {}), f32({0}, {})})}), "float32[0]");
  EXPECT_THROWN(aten("cat", {tensors({x, y}), 1}), BadShape,
                "aten::cat: tensors[0] is float32[1, 2] and tensors[1] is float32[2, 2]; along "
                "dimension 1 only tensors can be joined whose other sizes are equal");
  EXPECT_THROWN(aten("cat", {tensors({f32({}, {1})})}), BadShape,
                "aten::cat: tensors[0] is float32[], which has no dimension to join along; "
                "aten::stack makes one");
}

TEST(Stack, JoinsAlongANewDimension) {
  const Tensor x = i64({2}, {1, 2}), y = i64({2}, {3, 4});
  EXPECT_EQ(aten("stack", {tensors({x, y})}), "int64[2, 2] 1 2 3 4");
  EXPECT_EQ(aten("stack", {tensors({x, y}), -1}), "int64[2, 2] 1 3 2 4");
  EXPECT_EQ(aten("stack", {tensors({i64({}, {1}), i64({}, {2})})}), "int64[2] 1 2");
  EXPECT_THROWN(aten("stack", {tensors({x, i64({1}, {1})})}), BadShape,
                "aten::stack: tensors[0] is int64[2] and tensors[1] is int64[1]; all must have the "
                "same sizes");
  EXPECT_THROWN(aten("stack", {tensors({})}), BadArgument,
                "aten::stack: tensors is an empty list; at least one is needed");
}

}  // namespace
}  // namespace opyard::test_kernels_indexing
