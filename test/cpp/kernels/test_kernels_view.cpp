// test/cpp/kernels/test_kernels_view.cpp: protects views: they show the right elements, share the storage,
// and refuse what needs a copy. Suspect kernels/src/geometry/.
#include "../aten.h"

namespace opyard::test_kernels_view {
namespace {

Tensor matrix() { return i64({2, 3}, {1, 2, 3, 4, 5, 6}); }

// The view's elements, after checking that it is one.
std::string view(const std::string& name, std::vector<Given> given) {
  const Tensor self = given[0].value.to_tensor();
  const Tensor result = aten_tensor(name, std::move(given));
  EXPECT_EQ(result.impl()->storage().get(), self.impl()->storage().get());
  EXPECT_EQ(self.impl()->storage()->version(), 0U) << "a view writes nothing";
  return show(result);
}

TEST(View, SwapsAndReordersDimensions) {
  EXPECT_EQ(view("t", {matrix()}), "int64[3, 2] 1 4 2 5 3 6");
  EXPECT_EQ(view("t", {i64({2}, {1, 2})}), "int64[2] 1 2");
  EXPECT_EQ(view("transpose.int", {matrix(), -1, 0}), "int64[3, 2] 1 4 2 5 3 6");
  const Tensor cube = i64({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(view("permute", {cube, ints({2, 0, -2})}), "int64[3, 1, 2] 1 4 2 5 3 6");
  EXPECT_THROWN(aten("t", {cube}), BadShape,
                "aten::t: self is int64[1, 2, 3]; accepted are at most two dimensions, and "
                "aten::transpose.int swaps two of more");
  EXPECT_THROWN(aten("permute", {cube, ints({0, 1})}), BadShape,
                "aten::permute: self is int64[1, 2, 3] and dims is [0, 1]; dims must name each "
                "dimension of self once");
  EXPECT_THROWN(aten("permute", {cube, ints({0, 1, 1})}), BadValue,
                "aten::permute: dimension 1 is named twice in [0, 1, 1]; each dimension may occur "
                "once");
  EXPECT_THROWN(aten("transpose.int", {matrix(), 0, 2}), BadIndex,
                "aten::transpose.int: dimension 2 is out of range for a tensor of 2 dimensions; "
                "accepted are -2 to 1");
}

TEST(View, ExpandsDimensionsOfSizeOne) {
  EXPECT_EQ(view("expand", {i64({2, 1}, {1, 2}), ints({2, 3})}), "int64[2, 3] 1 1 1 2 2 2");
  EXPECT_EQ(view("expand", {i64({2}, {1, 2}), ints({2, -1})}), "int64[2, 2] 1 2 1 2");
  EXPECT_EQ(view("expand", {i64({1}, {1}), ints({0})}), "int64[0]");
  EXPECT_THROWN(aten("expand", {matrix(), ints({2, 4})}), BadShape,
                "aten::expand: self is int64[2, 3] and does not fit size, which is [2, 4]: "
                "dimension -1 of self is 3, and must be 4 or 1");
  EXPECT_THROWN(aten("expand", {matrix(), ints({3})}), BadShape,
                "aten::expand: self is int64[2, 3] and does not fit size, which is [3]: self has 2 "
                "dimensions, and must have at most 1");
  EXPECT_THROWN(aten("expand", {matrix(), ints({-1, 2, 3})}), BadShape,
                "aten::expand: size is [-1, 2, 3] and self is int64[2, 3]; a size must be 0 or "
                "more, or -1, which keeps that of a dimension of self");
}

TEST(View, AddsAndDropsDimensionsOfSizeOne) {
  EXPECT_EQ(view("unsqueeze", {i64({2}, {1, 2}), 0}), "int64[1, 2] 1 2");
  EXPECT_EQ(view("unsqueeze", {i64({2}, {1, 2}), -1}), "int64[2, 1] 1 2");
  EXPECT_EQ(view("unsqueeze", {i64({}, {7}), 0}), "int64[1] 7");
  EXPECT_EQ(view("squeeze", {i64({1, 2, 1}, {1, 2})}), "int64[2] 1 2");
  EXPECT_EQ(view("squeeze.dim", {i64({1, 2, 1}, {1, 2}), -1}), "int64[1, 2] 1 2");
  EXPECT_EQ(view("squeeze.dim", {i64({1, 2, 1}, {1, 2}), 1}), "int64[1, 2, 1] 1 2");
  EXPECT_THROWN(aten("unsqueeze", {matrix(), 3}), BadIndex,
                "aten::unsqueeze: dimension 3 is out of range for a result of 3 dimensions; "
                "accepted are -3 to 2");
}

TEST(View, SelectsAndSlices) {
  EXPECT_EQ(view("select.int", {matrix(), 0, 1}), "int64[3] 4 5 6");
  EXPECT_EQ(view("select.int", {matrix(), 1, -1}), "int64[2] 3 6");
  EXPECT_EQ(view("slice.Tensor", {matrix(), 1, 1}), "int64[2, 2] 2 3 5 6");
  EXPECT_EQ(view("slice.Tensor", {matrix(), 1, 0, 3, 2}), "int64[2, 2] 1 3 4 6");
  EXPECT_EQ(view("slice.Tensor", {matrix(), 1, -2, -1}), "int64[2, 1] 2 5");
  EXPECT_EQ(view("slice.Tensor", {matrix(), 0, 5, 9}), "int64[0, 3]");
  EXPECT_EQ(view("slice.Tensor", {matrix(), 1, 2, 1}), "int64[2, 0]");
  EXPECT_EQ(view("slice.Tensor", {matrix(), 1, 0, INT64_MAX, INT64_MAX}), "int64[2, 1] 1 4");
  EXPECT_EQ(view("narrow", {matrix(), 1, 1, 2}), "int64[2, 2] 2 3 5 6");
  EXPECT_EQ(view("narrow", {matrix(), 1, -1, 1}), "int64[2, 1] 3 6");
  EXPECT_EQ(view("narrow", {matrix(), 1, 3, 0}), "int64[2, 0]");
  const Tensor back = reversed({1, 2, 3});
  EXPECT_EQ(view("slice.Tensor", {back, 0, 3, 3}), "float32[0]");
  EXPECT_EQ(view("slice.Tensor", {back, 0, 1}), "float32[2] 2 3");
}

TEST(View, RefusesPartsThatAreNotThere) {
  EXPECT_THROWN(aten("select.int", {matrix(), 0, 2}), BadIndex,
                "aten::select.int: index is 2, out of range for dimension 0 of self, which is "
                "int64[2, 3]; accepted are -2 to 1");
  EXPECT_THROWN(aten("select.int", {i64({0}, {}), 0, 0}), BadIndex,
                "aten::select.int: index is 0, but dimension 0 of self, which is int64[0], has no "
                "elements");
  EXPECT_THROWN(aten("select.int", {i64({}, {1}), 0, 0}), BadShape,
                "aten::select.int: self is int64[], which has no dimensions to take a part of");
  EXPECT_THROWN(aten("slice.Tensor", {matrix(), 0, 0, 2, 0}), BadValue,
                "aten::slice.Tensor: step is 0; accepted are 1 and more");
  EXPECT_THROWN(aten("narrow", {matrix(), 1, 2, 2}), BadIndex,
                "aten::narrow: start 2 and length 2 leave dimension 1 of self, which is "
                "int64[2, 3]; start must be -3 to 3, and length 0 to what is left from there");
}

TEST(Reshape, ViewsWhereElementsLieSo) {
  EXPECT_EQ(view("view", {matrix(), ints({3, 2})}), "int64[3, 2] 1 2 3 4 5 6");
  EXPECT_EQ(view("view", {matrix(), ints({-1})}), "int64[6] 1 2 3 4 5 6");
  EXPECT_EQ(view("view", {matrix(), ints({1, 2, 1, 3, 1})}), "int64[1, 2, 1, 3, 1] 1 2 3 4 5 6");
  EXPECT_EQ(view("view", {i64({}, {7}), ints({1, 1})}), "int64[1, 1] 7");
  EXPECT_EQ(view("view", {i64({1, 1}, {7}), ints({})}), "int64[] 7");
  EXPECT_EQ(view("view", {i64({0, 3}, {}), ints({5, 0})}), "int64[5, 0]");
  // Two rows of a wider matrix: each row can be split, the two cannot be joined.
  const Tensor part =
      aten_tensor("narrow", {i64({2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), 1, 0, 4});
  EXPECT_EQ(aten("view", {part, ints({2, 2, 2})}), "int64[2, 2, 2] 1 2 3 4 6 7 8 9");
  EXPECT_THROWN(
      aten("view", {part, ints({8})}), BadShape,
      "aten::view: self is int64[2, 4] with strides [5, 1], whose elements are not ordered so "
      "that sizes [8] could show them without a copy; aten::reshape copies where it has "
      "to");
  EXPECT_EQ(view("reshape", {part, ints({1, 2, -1})}), "int64[1, 2, 4] 1 2 3 4 6 7 8 9");
}

TEST(Reshape, CopiesWhereItMust) {
  const Tensor turned = aten_tensor("t", {matrix()});
  const Tensor flat = aten_tensor("reshape", {turned, ints({6})});
  EXPECT_EQ(show(flat), "int64[6] 1 4 2 5 3 6");
  EXPECT_NE(flat.impl()->storage().get(), turned.impl()->storage().get());
  EXPECT_EQ(aten("flatten.using_ints", {turned}), "int64[6] 1 4 2 5 3 6");
  EXPECT_EQ(aten("flatten.using_ints", {i64({2, 1, 3}, {1, 2, 3, 4, 5, 6}), 1, -1}),
            "int64[2, 3] 1 2 3 4 5 6");
  EXPECT_EQ(aten("flatten.using_ints", {i64({}, {1})}), "int64[1] 1");
}

TEST(Reshape, RefusesSizesThatDoNotHoldTheElements) {
  EXPECT_THROWN(
      aten("view", {matrix(), ints({4})}), BadShape,
      "aten::view: sizes [4] do not fit self, which has 6 elements; their product must be "
      "that number, and one of them may be -1 for what is left");
  EXPECT_THROWN(aten("reshape", {matrix(), ints({-1, 4})}), BadShape,
                "aten::reshape: sizes [-1, 4] do not fit self, which has 6 elements; their product "
                "must be that number, and one of them may be -1 for what is left");
  EXPECT_EQ(thrown_by([] { aten("view", {matrix(), ints({-1, -1})}); }).kind, ErrorKind::BadShape);
  EXPECT_EQ(thrown_by([] { aten("view", {matrix(), ints({-2, -3})}); }).kind, ErrorKind::BadShape);
  EXPECT_THROWN(aten("view", {i64({0}, {}), ints({-1, 0})}), BadShape,
                "aten::view: sizes [-1, 0] leave -1 open for a tensor without elements, where any "
                "number would fit; write the size in its place");
  EXPECT_THROWN(
      aten("flatten.using_ints", {matrix(), 1, 0}), BadValue,
      "aten::flatten.using_ints: start_dim is 1 and end_dim is 0; start_dim must not come "
      "after end_dim");
}

TEST(View, AliasDetachAndAsStrided) {
  const Tensor x = matrix();
  EXPECT_EQ(view("alias", {x}), "int64[2, 3] 1 2 3 4 5 6");
  EXPECT_FALSE(aten_tensor("alias", {x}).same(x));
  EXPECT_EQ(view("detach", {x}), "int64[2, 3] 1 2 3 4 5 6");
  EXPECT_EQ(view("as_strided", {x, ints({2, 2}), ints({1, 2}), 1}), "int64[2, 2] 2 4 3 5");
  EXPECT_THROWN(aten("as_strided", {x, ints({7}), ints({1})}), BadShape,
                "aten::as_strided: sizes [7] with strides [1] from offset 0 leave the storage, "
                "which has room for 6 of int64 (48 bytes)");
}

TEST(View, ServesMetaTensors) {
  const Tensor x = Tensor::empty(Sizes{2, 3}, DType::Float32, {Backend::Meta, -1});
  EXPECT_EQ(describe(aten_tensor("t", {x})), "float32[3, 2]");
  EXPECT_EQ(describe(aten_tensor("view", {x, ints({6})})), "float32[6]");
  EXPECT_EQ(aten_tensor("select.int", {x, 0, 1}).device().backend, Backend::Meta);
}

TEST(Contiguous, IsSelfOrACopy) {
  const Tensor x = matrix();
  EXPECT_TRUE(aten_tensor("contiguous", {x}).same(x));
  const Tensor turned = aten_tensor("contiguous", {aten_tensor("t", {x})});
  EXPECT_EQ(show(turned), "int64[3, 2] 1 4 2 5 3 6");
  EXPECT_TRUE(turned.is_contiguous());
  const Tensor copy = aten_tensor("clone", {x});
  EXPECT_EQ(show(copy), show(x));
  EXPECT_NE(copy.raw(), x.raw());
}

}  // namespace
}  // namespace opyard::test_kernels_view
