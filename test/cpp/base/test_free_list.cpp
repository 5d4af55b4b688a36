// test_free_list.cpp: protects the memory that dead tensors leave for the next ones: that it is used
// again, that it is bounded, and that a thread gives it back at its end.
// Suspect dispatcher/src/base/free_list.cpp.
#include <gtest/gtest.h>
#include <malloc.h>

#include <thread>
#include <vector>

#include "opyard/base/alloc.h"
#include "opyard/tensor.h"

namespace opyard::test_free_list {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kKeeps = false;
#else
constexpr bool kKeeps = true;
#endif

const Tensor& viewed() {
  static const Tensor& tensor = *[] {
    const std::int64_t sizes[] = {4};
    return new Tensor(Tensor::empty(sizes));  // for ever
  }();
  return tensor;
}

// Where so many tensors lay that were made and let go of together.
std::vector<void*> places(std::size_t count) {
  std::vector<Tensor> made;
  std::vector<void*> found;
  for (std::size_t i = 0; i < count; ++i) {
    made.push_back(viewed().alias());
    found.push_back(made.back().impl().get());
  }
  return found;
}

// How many of these places the next tensors take.
std::size_t used_again(const std::vector<void*>& former) {
  std::size_t count = 0;
  for (void* const place : places(former.size())) {
    for (void* const one : former) count += one == place;
  }
  return count;
}

TEST(FreeList, ADeadTensorsMemoryIsTheNextOnes) {
  if (!kKeeps) GTEST_SKIP() << "the address sanitizer is to see that memory is used after its end";
  std::thread([] {
    places(1);  // a thread's first one is given back: from then on they are kept
    EXPECT_EQ(used_again(places(16)), 16u);
  }).join();
}

// Memory that is in use, of all threads.
std::size_t memory_in_use() { return mallinfo2().uordblks; }

TEST(FreeList, AThreadGivesThemBackAtItsEnd) {
  viewed();
  const auto run = [] {
    std::thread([] {
      places(1);
      places(100);
    }).join();
  };
  for (int i = 0; i < 10; ++i) run();  // what a thread's first allocations cost for good
  const std::size_t before = memory_in_use();
  for (int i = 0; i < 200; ++i) run();
  EXPECT_LE(memory_in_use(), before + 16 * 1024) << "200 threads with 16 blocks each are 600 KB";
}

TEST(FreeList, AThreadKeepsAFewAtMost) {
  viewed();
  places(1);
  const std::size_t before = memory_in_use();
  places(10'000);
  EXPECT_LE(memory_in_use(), before + 16 * 1024) << "10,000 tensors are 2 MB";
}

TEST(FreeList, WhoCountsSeesEachTensorComeAndGo) {
  viewed();
  places(20);  // so that blocks would be there
  const AllocationCount before = live_allocations();
  {
    const Tensor tensor = viewed().alias();
    EXPECT_EQ(live_allocations().blocks, before.blocks + 1);
    EXPECT_EQ(live_allocations().bytes, before.bytes + sizeof(TensorImpl));
  }
  EXPECT_EQ(live_allocations().blocks, before.blocks);
  EXPECT_EQ(live_allocations().bytes, before.bytes);
}

}  // namespace
}  // namespace opyard::test_free_list
