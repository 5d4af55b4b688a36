// registry/reclaim.cpp: reclamation of retired records.
//
// Overview
//   A call on the hot path loads a slot and follows the record without a lock. A writer that
//   takes a kernel back stores another record into the slot, but a call may have loaded the
//   old one a moment ago. So a record is retired first, and freed once every thread has been
//   seen outside of all calls since.
//
// Readers
//   A call sets its thread's `reading` with a plain store before it loads the slot. Where the
//   record holds a function that needs nothing else of it, the call clears `reading` with a
//   releasing store and goes to the function. Else it raises `call_depth` first, and lowers it
//   with a releasing store after the kernel returned. A plain store may become visible after a
//   later load; making it a fence would cost every call 5 to 20 ns. The writer pays instead.
//
// Writers
//   membarrier(PRIVATE_EXPEDITED) makes every running thread of the process execute a full
//   fence (0.25 µs). After it, a thread that is seen not to read, and then at depth 0, holds no
//   old record: what it starts later sees the new slots, and what it read before would show in
//   one of the two, since a depth is raised before `reading` is cleared and `reading` is looked at
//   first. Any other thread is waited for: each later collection looks again until it was seen
//   outside once.
//
// Two generations
//   Records retired since the last barrier are `fresh`; those behind a barrier are `waiting`,
//   and each thread node carries one flag, "still waited for". When no flag is left the
//   waiting records are free and the fresh ones move up. So retiring and collecting never
//   allocate, and a removal cannot fail for want of memory.
//
// Threads
//   A thread makes itself known at its first call (keys/local.h, [Thread entry]) and is
//   forgotten when it ends. A destructor of another key may call still later, in the last round of
//   such destructors even, after which no one would take the thread out. So the block of a thread
//   that has ended once is never looked at: all that it can hold is waited for until the system
//   does not know the thread any more. One mutex guards the nodes and both generations; it is a
//   leaf: no other lock and no code of a user is reached while it is held.
//
// If the operating system has no membarrier, retired records are never freed: calls stay
// right, memory grows with every override, and Registry::retired_count() tells how much.
#include "registry/reclaim.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "opyard/detail/base/mutex.h"
#include "opyard/keys/local.h"
#include "opyard/registry/operator.h"

namespace opyard {
namespace {

// Whether this thread's end has begun.
constinit thread_local bool thread_has_ended = false;

struct ThreadNode {
  detail::LocalBlock* block = nullptr;
  pid_t late = 0;  // the thread's number, if its end had begun when it made itself known
  bool waited_for = false;
  ThreadNode* next = nullptr;

  bool is_dead() const noexcept {
    return late != 0 && syscall(SYS_tgkill, getpid(), late, 0) != 0 && errno == ESRCH;
  }
  bool outside() const noexcept {
    if (late != 0) return false;
    return __atomic_load_n(&block->reading, __ATOMIC_ACQUIRE) == 0 &&
           __atomic_load_n(&block->call_depth, __ATOMIC_ACQUIRE) == 0;
  }
};

void leave_thread(void* membership);

struct Reclaimer {
  Mutex mutex{LockRank::Reclaimer, after_fork_in_child};  // guards everything below
  ThreadNode* threads = nullptr;
  RecordChain fresh;
  RecordChain waiting;
  bool has_barrier = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;

  pthread_key_t end_of_thread;

  Reclaimer() {
    // Fails only if the process has no room for one more key.
    if (pthread_key_create(&end_of_thread, leave_thread) != 0) throw std::bad_alloc();
  }

  static Reclaimer& instance() {
    static auto* const reclaimer = new Reclaimer;  // outlives every thread
    return *reclaimer;
  }

  bool any_waited_for() noexcept {
    forget_dead_threads();
    bool any = false;
    for (ThreadNode* node = threads; node != nullptr; node = node->next) {
      if (node->waited_for && node->outside()) node->waited_for = false;
      any |= node->waited_for;
    }
    return any;
  }

  void forget_dead_threads() noexcept {
    for (ThreadNode** link = &threads; *link != nullptr;) {
      ThreadNode* const node = *link;
      if (!node->is_dead()) {
        link = &node->next;
        continue;
      }
      *link = node->next;
      delete node;
    }
  }

  // In the child of a fork only the calling thread lives on.
  static void after_fork_in_child() {
    Reclaimer& reclaimer = instance();
    for (ThreadNode** link = &reclaimer.threads; *link != nullptr;) {
      ThreadNode* node = *link;
      if (node->block == &detail::local_block) {
        if (node->late != 0) node->late = pid_t(syscall(SYS_gettid));
        link = &node->next;
      } else {
        *link = node->next;  // the node belongs to a thread that is not here, and is leaked
      }
    }
    if (reclaimer.has_barrier) {
      syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    }
  }
};

// Runs at the end of a thread, after its C++ thread-local destructors. A call that is made
// still later, by the destructor of another key, enters the thread again.
void leave_thread(void* membership) {
  const std::unique_ptr<ThreadNode> node(static_cast<ThreadNode*>(membership));
  Reclaimer& reclaimer = Reclaimer::instance();
  thread_has_ended = true;
  const std::lock_guard lock(reclaimer.mutex);
  for (ThreadNode** link = &reclaimer.threads; *link != nullptr; link = &(*link)->next) {
    if (*link == node.get()) {
      *link = node->next;
      break;
    }
  }
  detail::local_block.include |= detail::kThreadEntryBit;
}

}  // namespace

namespace detail {

void enter_thread() {
  if ((local_block.include & kThreadEntryBit) == 0) return;
  Reclaimer& reclaimer = Reclaimer::instance();
  auto node = std::make_unique<ThreadNode>();
  node->block = &local_block;
  if (thread_has_ended) node->late = pid_t(syscall(SYS_gettid));
  if (pthread_setspecific(reclaimer.end_of_thread, node.get()) != 0) throw std::bad_alloc();
  const std::lock_guard lock(reclaimer.mutex);
  node->next = reclaimer.threads;
  reclaimer.threads = node.release();
  local_block.include &= ~kThreadEntryBit;
}

}  // namespace detail

RecordChain::~RecordChain() {
  while (first_ != nullptr) {
    const std::unique_ptr<Record> record(first_);
    first_ = record->next_retired;
  }
}

void RecordChain::add(std::unique_ptr<Record> record) noexcept {
  record->next_retired = first_;
  first_ = record.release();
}

void RecordChain::add(RecordChain other) noexcept {
  while (other.first_ != nullptr) {
    std::unique_ptr<Record> record(other.first_);
    other.first_ = record->next_retired;
    add(std::move(record));
  }
}

std::size_t RecordChain::count() const noexcept {
  std::size_t count = 0;
  for (const Record* record = first_; record != nullptr; record = record->next_retired) ++count;
  return count;
}

void RecordChain::list_provenances(std::vector<std::string>& to) const {
  for (const Record* record = first_; record != nullptr; record = record->next_retired) {
    to.push_back(record->provenance);
  }
}

void prepare_reclaimer() { Reclaimer::instance(); }

void retire(std::unique_ptr<Record> record) noexcept {
  Reclaimer& reclaimer = Reclaimer::instance();
  const std::lock_guard lock(reclaimer.mutex);
  reclaimer.fresh.add(std::move(record));
}

RecordChain collect_retired() noexcept {
  Reclaimer& reclaimer = Reclaimer::instance();
  RecordChain free;
  const std::lock_guard lock(reclaimer.mutex);
  if (!reclaimer.has_barrier) return free;
  // At most twice: once for what waited, once for what was retired since.
  for (int round = 0; round < 2 && !reclaimer.any_waited_for(); ++round) {
    free.add(std::move(reclaimer.waiting));
    if (reclaimer.fresh.empty()) break;
    reclaimer.waiting = std::move(reclaimer.fresh);
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    for (ThreadNode* node = reclaimer.threads; node != nullptr; node = node->next) {
      node->waited_for = !node->outside();
    }
  }
  if (!reclaimer.any_waited_for()) free.add(std::move(reclaimer.waiting));
  return free;
}

std::size_t retired_record_count() noexcept {
  Reclaimer& reclaimer = Reclaimer::instance();
  const std::lock_guard lock(reclaimer.mutex);
  return reclaimer.fresh.count() + reclaimer.waiting.count();
}

std::vector<std::string> retired_provenances() {
  std::vector<std::string> provenances;
  Reclaimer& reclaimer = Reclaimer::instance();
  const std::lock_guard lock(reclaimer.mutex);
  reclaimer.fresh.list_provenances(provenances);
  reclaimer.waiting.list_provenances(provenances);
  return provenances;
}

}  // namespace opyard
