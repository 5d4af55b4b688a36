// base/mutex.cpp: lock order, and all locks held across fork().
#include "opyard/detail/base/mutex.h"

#include <pthread.h>

#include <atomic>

namespace opyard {
namespace {

constexpr int kCount = int(LockRank::kCount);

// The ranks this thread holds, one bit each. Looked at in builds with assertions only.
constinit thread_local unsigned held = 0;

constexpr unsigned rank_bit(LockRank rank) { return 1u << int(rank); }

}  // namespace

// What fork() runs. The locks register while libopyard is loaded, or at their first use.
struct Mutex::Fork {
  static inline constinit std::atomic<Mutex*> by_rank[kCount]{};
  // Those that this thread took for its fork: another may be made in the meantime.
  static inline constinit thread_local Mutex* taken[kCount]{};

  static void before() {
    for (int rank = 0; rank < kCount; ++rank) {
      taken[rank] = by_rank[rank].load(std::memory_order_acquire);
      if (taken[rank] != nullptr) taken[rank]->lock();
    }
  }
  static void release() {
    for (int rank = kCount; rank-- > 0;) {
      if (taken[rank] != nullptr) taken[rank]->unlock();
    }
  }
  static void in_child() {
    for (Mutex* mutex : taken) {
      if (mutex != nullptr && mutex->in_child_ != nullptr) mutex->in_child_();
    }
    release();
  }
};

Mutex::Mutex(LockRank rank, void (*in_child)()) : rank_(rank), in_child_(in_child) {
  static const bool handled = pthread_atfork(Fork::before, Fork::release, Fork::in_child) == 0;
  if (!handled) throw std::bad_alloc();
  Fork::by_rank[int(rank)].store(this, std::memory_order_release);
}

Mutex::~Mutex() {
  Mutex* self = this;
  Fork::by_rank[int(rank_)].compare_exchange_strong(self, nullptr);
}

void Mutex::lock() {
  OPYARD_ASSERT(held >> int(rank_) == 0);
  mutex_.lock();
  held |= rank_bit(rank_);
}

void Mutex::unlock() {
  held &= ~rank_bit(rank_);
  mutex_.unlock();
}

void assert_no_lock_held() { OPYARD_ASSERT(held == 0); }

}  // namespace opyard
