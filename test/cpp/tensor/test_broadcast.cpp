// test_broadcast.cpp: protects common sizes, strides of what is expanded, and refusals.
// Suspect dispatcher/src/tensor/broadcast.cpp.
#include "opyard/tensor/broadcast.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "../thrown_by.h"

namespace opyard::test_broadcast {
namespace {

// Of -1 as a size that is not known.
struct Unknown {
  std::int64_t number = 0;
  Unknown(std::int64_t given) : number(given) {}  // NOLINT
  bool is_symbolic() const { return number == -1; }
  std::int64_t expect_int() const { return number; }
  bool operator==(const Unknown& other) const { return number == other.number; }
};
using Sizes = std::vector<std::int64_t>;
using UnknownSizes = std::vector<Unknown>;

std::optional<DimVector> joined(const Sizes& a, const Sizes& b) { return find_broadcast(a, b); }
std::optional<UnknownSizes> joined_unknown(const UnknownSizes& a, const UnknownSizes& b) {
  return find_broadcast(std::span<const Unknown>(a), std::span<const Unknown>(b));
}

TEST(Broadcast, JoinsSizesFromTheLast) {
  EXPECT_EQ(joined({2, 1}, {3}), (DimVector{2, 3}));
  EXPECT_EQ(joined({}, {0, 2}), (DimVector{0, 2}));
  EXPECT_EQ(joined({0}, {1}), (DimVector{0}));
  EXPECT_EQ(joined({2, 3}, {2}), std::nullopt);
  EXPECT_EQ(joined({0}, {2}), std::nullopt);
}

TEST(Broadcast, TakesASizeThatIsNotKnownToFit) {
  EXPECT_EQ(joined_unknown({-1, 1}, {3}), (UnknownSizes{-1, 3}));
  EXPECT_EQ(joined_unknown({-1}, {3}), (UnknownSizes{3})) << "the known one is the result's";
  EXPECT_EQ(joined_unknown({3}, {-1}), (UnknownSizes{3}));
  EXPECT_EQ(joined_unknown({1}, {-1}), (UnknownSizes{-1}));
  EXPECT_EQ(joined_unknown({-1, 3}, {2}), std::nullopt);
}

TEST(Broadcast, ExpandsInOneDirection) {
  EXPECT_TRUE(can_expand(Sizes{3, 1}, Sizes{2, 3, 4}));
  EXPECT_FALSE(can_expand(Sizes{3}, Sizes{1}));
  EXPECT_FALSE(can_expand(Sizes{1, 3}, Sizes{3})) << "a dimension more is none of size 1";
  DimVector strides;
  const Sizes sizes = {3, 1, 1}, own = {5, 7, 9}, to = {2, 3, 4, 1};
  expand_strides(IntSpan(sizes), IntSpan(own), IntSpan(to), strides);
  EXPECT_EQ(strides, (DimVector{0, 5, 0, 9})) << "what is not repeated keeps its stride";
}

TEST(Broadcast, BlamesTheLastDimensionThatDoesNotFit) {
  const Sizes a = {2, 5, 1}, b = {3, 6, 4};
  const SizeClash clash = find_clash(IntSpan(a), IntSpan(b));
  EXPECT_EQ(clash.dim, -2);
  EXPECT_EQ(clash.of_first, 5);
  EXPECT_EQ(clash.of_second, 6);
  EXPECT_EQ(find_clash(IntSpan(a), IntSpan()).dim, 0);
}

TEST(Broadcast, ThePairToBlameIsTheFirstThatDoesNotFit) {
  const std::vector<std::vector<std::int64_t>> sizes = {{1}, {4}, {2, 1}, {3}, {5}};
  const auto clash_of = [&](std::size_t i, std::size_t j) {
    return find_clash(IntSpan(sizes[i]), IntSpan(sizes[j]));
  };
  const ClashingPair pair = find_clashing_pair(sizes.size(), clash_of);
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair.first, 1u);
  EXPECT_EQ(pair.second, 3u);
  EXPECT_EQ(pair.clash.of_first, 4);
  EXPECT_EQ(pair.clash.of_second, 3);
  EXPECT_FALSE(find_clashing_pair(3, clash_of));
  EXPECT_FALSE(find_clashing_pair(0, clash_of));
}

std::string target_refusal(const Sizes& source, const Sizes& target) {
  return thrown_by([&] {
           refuse_target("aten::f.out", {"the result", IntSpan(source)}, {"out", IntSpan(target)},
                         find_difference(source, target));
         })
      .text;
}

TEST(Broadcast, SaysWhatATargetMustBe) {
  EXPECT_EQ(target_refusal({2, 3}, {2, 1}),
            "aten::f.out: the result is [2, 3] and does not fit out, which is [2, 1]: dimension -1 "
            "of out is 1, and must be 3");
  EXPECT_EQ(target_refusal({2, 3}, {3}),
            "aten::f.out: the result is [2, 3] and does not fit out, which is [3]: out has 1 "
            "dimension, and must have 2");
}

}  // namespace
}  // namespace opyard::test_broadcast
