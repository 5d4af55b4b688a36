// test_geometry.cpp: protects the arithmetic on sizes and strides, which decides what memory is touched.
// Suspect dispatcher/src/tensor/geometry.cpp, places.cpp and view_strides.cpp.
//
// It is compared with the plain meaning of sizes and strides: all offsets, one by one.
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "../thrown_by.h"
#include "opyard/tensor.h"

namespace opyard::test_geometry {
namespace {

using Dims = std::vector<std::int64_t>;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr Device kCpu{Backend::CPU, -1};

// The offsets of all elements, the last dimension fastest.
Dims offsets(const Dims& sizes, const Dims& strides, std::int64_t first) {
  Dims all = {first};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Dims next;
    for (const std::int64_t offset : all) {
      for (std::int64_t k = 0; k < sizes[i]; ++k) next.push_back(offset + k * strides[i]);
    }
    all = next;
  }
  return all;
}

TEST(Geometry, SizesThatDoNotWorkAreRefused) {
  EXPECT_THROWN(Tensor::empty(Dims{2, -1}), BadShape,
                "sizes [2, -1] are negative in dimension 1; a size is 0 or more");
  EXPECT_THROWN(Tensor::empty(Dims{0, -1}), BadShape,
                "sizes [0, -1] are negative in dimension 1; a size is 0 or more");
  EXPECT_THROWN(Tensor::empty(Dims{kMost, 2}), BadShape,
                "sizes [9223372036854775807, 2] have more elements than fit in 64 bits");
  EXPECT_THROWN(Tensor::empty(Dims{kMost / 2}, DType::Int64), BadShape,
                "sizes [4611686018427387903] of int64 need more bytes than fit in 64 bits");
  EXPECT_THROWN(Tensor::empty(Dims{0, kMost, 4}), BadShape,
                "sizes [0, 9223372036854775807, 4] need a stride that does not fit in 64 bits");
  EXPECT_EQ(Tensor::empty(Dims{kMost, 4, 0}).numel(), 0);
  EXPECT_EQ(thrown_by([] { Tensor::empty(Dims{1}, DType::Bool, {Backend::CUDA, 0}); }).kind,
            ErrorKind::Unsupported);
}

TEST(Geometry, AGeometryStandsExactlyWhereAllItsElementsLieInTheStorage) {
  std::mt19937 random(7);
  const CountedPtr<Storage> storage = Storage::allocate(12 * sizeof(float), kCpu);
  int standing = 0;
  for (int run = 0; run < 20000; ++run) {
    Dims sizes;
    Dims strides;
    for (unsigned i = random() % 4; i > 0; --i) {
      sizes.push_back(std::int64_t(random() % 5));
      strides.push_back(std::int64_t(random() % 9) - 3);
    }
    const std::int64_t first = std::int64_t(random() % 15) - 1;
    const Dims all = offsets(sizes, strides, first);
    bool fits = first >= 0;
    bool in_order = true;
    for (std::size_t i = 0; i < all.size(); ++i) {
      fits = fits && all[i] >= 0 && all[i] < 12;
      in_order = in_order && all[i] == first + std::int64_t(i);
    }
    try {
      const auto impl = make_counted<TensorImpl>(storage, DType::Float32, sizes, strides, first,
                                                 DispatchKeySet());
      ASSERT_TRUE(fits) << describe_sizes(sizes) << describe_sizes(strides) << first;
      ASSERT_EQ(impl->is_contiguous(), in_order)
          << describe_sizes(sizes) << describe_sizes(strides);
      ASSERT_EQ(impl->numel(), std::int64_t(all.size()));
      ++standing;
    } catch (const Error& error) {
      ASSERT_FALSE(fits) << error.what();
      ASSERT_EQ(error.kind(), ErrorKind::BadShape);
    }
  }
  EXPECT_GT(standing, 1000) << "both outcomes are covered";
  EXPECT_LT(standing, 19000);
}

TEST(Geometry, AGeometryThatLeavesTheStorageIsRefused) {
  const Tensor base = Tensor::empty(Dims{2, 3});
  EXPECT_THROWN(base.as_strided(Dims{2, 3}, Dims{3, 1}, 1), BadShape,
                "sizes [2, 3] with strides [3, 1] from offset 1 leave the storage, which has room "
                "for 6 of float32 (24 bytes)");
  EXPECT_THROWN(base.as_strided(Dims{2}, Dims{1, 1}, 0), BadShape,
                "1 sizes were given with 2 strides: [2] and [1, 1]; there must be one stride for "
                "each size");
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t stride : {kMost, kMost - 1, least, least + 1}) {
    for (const std::int64_t offset : {std::int64_t{0}, std::int64_t{5}, kMost, least}) {
      EXPECT_EQ(thrown_by([&] { base.as_strided(Dims{2}, Dims{stride}, offset); }).kind,
                ErrorKind::BadShape);
      EXPECT_EQ(thrown_by([&] { base.as_strided(Dims{3, 3}, Dims{stride, stride}, offset); }).kind,
                ErrorKind::BadShape);
    }
    EXPECT_NO_THROW(base.as_strided(Dims{1}, Dims{stride}, 5)) << "a stride that is never taken";
    EXPECT_NO_THROW(base.as_strided(Dims{0, 7}, Dims{stride, stride}, 5)) << "no elements";
  }
  EXPECT_EQ(thrown_by([&] { base.as_strided(Dims{0}, Dims{1}, kMost); }).kind, ErrorKind::BadShape);
}

TEST(Geometry, MemoryMayBeWalkedBackwards) {
  float memory[6] = {0, 1, 2, 3, 4, 5};
  const Tensor reversed =
      Tensor::adopt(memory + 5, Dims{6}, Dims{-1}, DType::Float32, kCpu, nullptr, nullptr);
  EXPECT_EQ(reversed.data<float>(), memory + 5);
  EXPECT_EQ(reversed.impl()->storage()->data(), memory);
  EXPECT_EQ(reversed.storage_offset(), 5);
  EXPECT_FALSE(reversed.is_contiguous());
  const Tensor forwards = reversed.as_strided(Dims{6}, Dims{1}, 0);
  EXPECT_EQ(forwards.data<float>(), memory);
  const Tensor mixed =
      Tensor::adopt(memory + 3, Dims{2, 3}, Dims{-3, 1}, DType::Float32, kCpu, nullptr, nullptr);
  EXPECT_EQ(mixed.impl()->storage()->data(), memory);
  EXPECT_EQ(mixed.impl()->storage()->bytes(), sizeof(memory));
}

TEST(Geometry, AdoptingReachesOutsideTheAddressSpaceInNoDirection) {
  float memory[4] = {};
  EXPECT_THROWN(
      Tensor::adopt(memory, Dims{2}, Dims{kMost / 2}, DType::Float32, kCpu, nullptr, nullptr),
      BadShape, "sizes [2] with strides [4611686018427387903] of float32 leave the address space");
}

}  // namespace
}  // namespace opyard::test_geometry
