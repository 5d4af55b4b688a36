// test/cpp/failing_allocator.h: an allocator that refuses its n-th request.
//
// fail_every_allocation(body) runs `body` again and again: the first time its first request
// fails, then its second, until a run needs no more. After every run as much memory is live
// as before it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <utility>

#include "opyard/base/alloc.h"

namespace opyard {

// For tests of one thread: the countdown is not atomic.
class FailingAllocator {
 public:
  explicit FailingAllocator(int succeeding) : former_(set_allocator(&kAllocator)) {
    remaining_ = succeeding;
    refused_ = false;
  }
  FailingAllocator(const FailingAllocator&) = delete;
  FailingAllocator& operator=(const FailingAllocator&) = delete;
  ~FailingAllocator() { set_allocator(former_); }

  static bool refused() { return refused_; }

 private:
  static void* take(std::size_t bytes, std::size_t alignment) {
    if (remaining_-- <= 0) {
      refused_ = true;
      return nullptr;
    }
    if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes);
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  static void give(void* memory, std::size_t, std::size_t) { std::free(memory); }

  static constexpr Allocator kAllocator{take, give};
  static inline int remaining_ = 0;
  static inline bool refused_ = false;
  const Allocator* former_;
};

// Returns how many requests `body` makes when none fails.
template <typename Body>
int fail_every_allocation(Body&& body) {
  for (int succeeding = 0;; ++succeeding) {
    const AllocationCount before = live_allocations();
    bool thrown = false;
    bool refused = false;
    {
      FailingAllocator allocator(succeeding);
      try {
        body();
      } catch (const std::bad_alloc&) {
        thrown = true;
      }
      refused = FailingAllocator::refused();
    }
    EXPECT_EQ(thrown, refused) << "a refused request is thrown on as bad_alloc";
    EXPECT_EQ(live_allocations().blocks, before.blocks) << "after " << succeeding << " requests";
    EXPECT_EQ(live_allocations().bytes, before.bytes) << "after " << succeeding << " requests";
    if (!refused || succeeding > 1000) return succeeding;
  }
}

}  // namespace opyard
