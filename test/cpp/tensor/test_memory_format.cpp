// test_memory_format.cpp: protects the order of dimensions in memory.
// Suspect dispatcher/src/tensor/memory_format.cpp.
#include "opyard/tensor/memory_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "../thrown_by.h"

namespace opyard::test_memory_format {
namespace {

using Dims = std::vector<std::int64_t>;
using F = MemoryFormat;

Dims strides_of(F format, const Dims& sizes) {
  const DimVector strides = strides_in(format, sizes);
  return Dims(strides.begin(), strides.end());
}

TEST(MemoryFormat, StridesFollowTheOrderOfDensity) {
  EXPECT_EQ(strides_of(F::Contiguous, {2, 3, 4, 5}), (Dims{60, 20, 5, 1}));
  EXPECT_EQ(strides_of(F::ChannelsLast, {2, 3, 4, 5}), (Dims{60, 1, 15, 3}));
  EXPECT_EQ(strides_of(F::ChannelsLast3d, {2, 3, 4, 5, 6}), (Dims{360, 1, 90, 18, 3}));
  EXPECT_EQ(strides_of(F::Contiguous, {}), Dims());
  EXPECT_EQ(strides_of(F::ChannelsLast, {0, 3, 4, 5}), (Dims{60, 1, 15, 3}));
  EXPECT_THROWN(strides_in(F::ChannelsLast, Dims{2, 3}), BadShape,
                "sizes [2, 3] have 2 dimensions, but this memory format is for 4");
  EXPECT_THROWN(strides_in(F::Preserve, Dims{2, 3}), BadValue,
                "the memory format 'preserve' means that of a source, and there is no source here; "
                "name contiguous, channels last or channels last 3d");
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  EXPECT_THROWN(strides_in(F::ChannelsLast, Dims{0, kHuge, kHuge, 1}), BadShape,
                "sizes [0, 1099511627776, 1099511627776, 1] need a stride that does not fit in 64 "
                "bits");
}

TEST(MemoryFormat, ATensorLiesInTheFormatItWasMadeIn) {
  const Dims sizes = {2, 3, 4, 5};
  const Tensor last = empty_in(F::ChannelsLast, sizes);
  EXPECT_TRUE(is_contiguous_in(F::ChannelsLast, last));
  EXPECT_FALSE(is_contiguous_in(F::Contiguous, last));
  EXPECT_FALSE(is_contiguous_in(F::ChannelsLast3d, last)) << "another number of dimensions";
  EXPECT_FALSE(last.is_contiguous());
  EXPECT_TRUE(is_non_overlapping_and_dense(last));
  const Tensor rows = empty_in(F::Contiguous, sizes);
  EXPECT_TRUE(is_contiguous_in(F::Contiguous, rows) && rows.is_contiguous());
  EXPECT_FALSE(is_contiguous_in(F::ChannelsLast, rows));
  const Tensor one_channel = Tensor::empty(Dims{2, 1, 4, 5});
  EXPECT_TRUE(is_contiguous_in(F::ChannelsLast, one_channel)) << "a size of 1 is anywhere";
  EXPECT_TRUE(is_contiguous_in(F::ChannelsLast, Tensor::empty(Dims{2, 3, 0, 5}))) << "no element";
}

TEST(MemoryFormat, StridesAreLikeAFormatWhereTheirOrderIs) {
  const Tensor base = Tensor::empty(Dims{1000});
  const Dims sizes = {2, 3, 4, 5};
  const auto like = [&](const Dims& strides) {
    return is_strides_like(F::ChannelsLast, base.as_strided(sizes, strides, 0));
  };
  EXPECT_TRUE(like({60, 1, 15, 3}));
  EXPECT_TRUE(like({90, 1, 20, 4})) << "with gaps";
  EXPECT_FALSE(like({60, 20, 5, 1})) << "rows";
  EXPECT_FALSE(like({60, 1, 15, 2})) << "elements that meet";
  EXPECT_FALSE(like({60, 0, 15, 3})) << "channels that are one, expanded";
  EXPECT_FALSE(like({0, 1, 15, 3}));
  EXPECT_FALSE(is_strides_like(F::ChannelsLast, Tensor::empty(Dims{0, 3, 4, 5})));
}

// Against the plain meaning: every offset of the block is reached once.
TEST(MemoryFormat, DenseMeansThatEveryPlaceIsFilledOnce) {
  const Tensor base = Tensor::empty(Dims{1000});
  Dims order = {0, 1, 2};
  const Dims sizes = {2, 3, 4};
  for (const std::int64_t gap : {0, 1}) {
    std::sort(order.begin(), order.end());
    do {
      Dims strides(3);
      std::int64_t stride = 1;
      for (const std::int64_t i : order) {
        strides[std::size_t(i)] = stride;
        stride = stride * sizes[std::size_t(i)] + gap;
      }
      std::set<std::int64_t> reached;
      for (std::int64_t a = 0; a < 2; ++a) {
        for (std::int64_t b = 0; b < 3; ++b) {
          for (std::int64_t c = 0; c < 4; ++c) {
            reached.insert(a * strides[0] + b * strides[1] + c * strides[2]);
          }
        }
      }
      const bool dense = reached.size() == 24 && *reached.rbegin() == 23;
      EXPECT_EQ(is_non_overlapping_and_dense(base.as_strided(sizes, strides, 0)), dense);
    } while (std::next_permutation(order.begin(), order.end()));
  }
  EXPECT_FALSE(is_non_overlapping_and_dense(base.as_strided(Dims{4, 4}, Dims{0, 1}, 0)));
  EXPECT_FALSE(is_non_overlapping_and_dense(base.as_strided(Dims{3, 3}, Dims{1, 1}, 0)));
}

}  // namespace
}  // namespace opyard::test_memory_format
