// test_storage.cpp: protects memory: taken once, given back once, with its device always known.
// Suspect dispatcher/src/tensor/storage.cpp.
#include "opyard/tensor/storage.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "../failing_allocator.h"
#include "../thrown_by.h"

namespace opyard::test_storage {
namespace {

constexpr Device kCpu{Backend::CPU, -1};

void count(void* counter) { ++*static_cast<int*>(counter); }

TEST(Storage, MemoryOfOurOwnIsAlignedToACacheLineAndComesThroughTheSeam) {
  const AllocationCount before = live_allocations();
  for (const std::size_t bytes : {1, 63, 64, 65, 100000}) {
    CountedPtr<Storage> storage = Storage::allocate(bytes, kCpu);
    ASSERT_NE(storage->data(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(storage->data()) % 64, 0u) << bytes;
    EXPECT_EQ(storage->bytes(), bytes);
    EXPECT_FALSE(storage->read_only());
    EXPECT_EQ(live_allocations().bytes, before.bytes + bytes + sizeof(Storage));
    std::memset(storage->data(), 1, bytes);
  }
  EXPECT_EQ(live_allocations().blocks, before.blocks);
  EXPECT_EQ(live_allocations().bytes, before.bytes);
}

TEST(Storage, J13_WithoutDataItStillKnowsItsDevice) {
  const CountedPtr<Storage> empty = Storage::allocate(0, kCpu);
  EXPECT_EQ(empty->data(), nullptr);
  EXPECT_EQ(empty->device(), kCpu);
  const CountedPtr<Storage> meta = Storage::allocate(4096, {Backend::Meta, -1});
  EXPECT_EQ(meta->data(), nullptr);
  EXPECT_EQ(meta->bytes(), 4096u);
  EXPECT_EQ(meta->device().backend, Backend::Meta);
  const CountedPtr<Storage> later =
      Storage::adopt(nullptr, 0, {Backend::CUDA, 1}, nullptr, nullptr);
  EXPECT_EQ(later->device(), (Device{Backend::CUDA, 1}));
}

TEST(Storage, ADeviceWithoutAnAllocatorIsRefused) {
  EXPECT_THROWN(Storage::allocate(16, Device{Backend::CUDA, 1}), Unsupported,
                "there is no allocator for device cuda:1; memory can be taken on cpu, and tensors "
                "without memory can be made on meta");
}

TEST(Storage, TheDeleterRunsOnceWhenTheLastOwnerLetsGo) {
  int deleted = 0;
  char memory[8];
  CountedPtr<Storage> first = Storage::adopt(memory, 8, kCpu, &deleted, count);
  EXPECT_EQ(first->data(), memory);
  CountedPtr<Storage> second = first;
  first.reset();
  EXPECT_EQ(deleted, 0);
  std::thread([moved = std::move(second)]() mutable { moved.reset(); }).join();
  EXPECT_EQ(deleted, 1);
}

TEST(Storage, TheDeleterRunsOnceWhenAdoptingFails) {
  int deleted = 0;
  char memory[8];
  {
    FailingAllocator allocator(0);
    EXPECT_THROW(Storage::adopt(memory, 8, kCpu, &deleted, count), std::bad_alloc);
  }
  EXPECT_EQ(deleted, 1);
}

TEST(Storage, LentMemoryHasNoDeleter) {
  char memory[8] = "seven";
  Storage::adopt(memory, 8, kCpu, nullptr, nullptr, true).reset();
  EXPECT_STREQ(memory, "seven");
}

TEST(Storage, AnyAllocationMayFail) {
  EXPECT_EQ(fail_every_allocation([] { Storage::allocate(100, kCpu); }), 2)
      << "the bytes and the object";
}

TEST(Storage, WritesAreCounted) {
  const CountedPtr<Storage> storage = Storage::allocate(4, kCpu);
  EXPECT_EQ(storage->version(), 0u);
  storage->bump_version();
  storage->bump_version();
  EXPECT_EQ(storage->version(), 2u);
}

}  // namespace
}  // namespace opyard::test_storage
