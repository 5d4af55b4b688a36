// pool/pool.cpp: the thread pool: threads, queue, sleeping and waking.
//
// Overview: one lock guards everything; no code of a user runs under it. A thread of the pool takes
// a range of a loop first, then the oldest job, then sleeps on a futex. Threads are started when
// something is queued and none sleeps, and never end: they are born detached, with signals blocked.
//
// [Waiting] A thread that waits for a job which no one has begun runs it itself. It runs no other:
// one could need what only this thread completes further down its stack, and neither would go on.
// Since every job that is waited for is either run by its waiter or by a thread, waiting ends if
// the program has no cycle, whatever the size of the pool is.
//
// [Size] So many threads of the pool are awake and not waiting at a time, at most. One that begins
// to wait leaves its place to another, which may be started for it; when it wakes up there may be
// one too many, until one has nothing to do.
//
// [Wake-up] A thread that wakes a sleeper takes it off `sleeping` and leaves a token, so that two
// things that are queued at once wake two threads. All of it is under the lock; the futex's word
// only says that something has changed.
//
// [Fork] The lock is held across fork(), so the child finds the lists whole. It forgets threads and
// queue. Jobs stay in the table, where a waiter finds them.
#include "opyard/pool/pool.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstring>
#include <string_view>
#include <utility>

#include "opyard/detail/base/mutex.h"
#include "pool/queue.h"

namespace opyard {
namespace detail {

namespace {

constexpr int kMostThreads = 1024;
// A waiter runs what it waits for inside of what it runs; past this depth another thread does,
// which has a stack of its own.
constexpr int kDeepestHelp = 32;
constexpr std::size_t kBuckets = 512;

constinit thread_local int help_depth = 0;
// Which process this thread works for, as one of its pool's threads; 0 for all other threads.
constinit thread_local std::uint64_t works_for = 0;
// Whether anything was ever queued: until then waiting costs one load.
constinit std::atomic<bool> is_used{false};

void sleep_on(std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, value, nullptr,
          nullptr, 0);
}
void wake(std::atomic<std::uint32_t>& word, int count) noexcept {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, count, nullptr,
          nullptr, 0);
}

int processors() noexcept {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) == 0) return std::max(CPU_COUNT(&usable), 1);
  return int(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L));
}

int size_from_environment() {
  const char* const variable = secure_getenv("OPYARD_NUM_THREADS");
  if (variable == nullptr || *variable == 0) return std::min(processors(), kMostThreads);
  const std::string_view text = variable;
  int count = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), count);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || count < 1 ||
      count > kMostThreads) {
    fail(ErrorKind::BadValue,
         fmt::format("OPYARD_NUM_THREADS is '{}'; it takes a number from 1 to {}", text,
                     kMostThreads));
  }
  return count;
}

}  // namespace

Job::~Job() = default;

struct Pool {
  Mutex mutex{LockRank::Pool, forget_threads};
  std::uint64_t process = 1;
  int size = 0;  // 0: not asked for yet
  int threads = 0;
  int sleeping = 0;  // of them, and no one has woken them
  int waiting = 0;   // of them, inside of a job that waits for another
  int tokens = 0;    // see [Wake-up]
  std::atomic<std::uint32_t> changed{0};
  Job* first = nullptr;  // the queue; each has an owner there
  Job* last = nullptr;
  Loop* loops = nullptr;
  Job* table[kBuckets] = {};  // jobs that have not run to their end

  static Pool& of_process() {
    static auto* const pool = new Pool;
    return *pool;
  }

  // The child's only thread calls it, with the lock held.
  static void forget_threads() {
    Pool& pool = of_process();
    ++pool.process;
    pool.threads = pool.sleeping = pool.waiting = pool.tokens = 0;
    pool.first = pool.last = nullptr;
    pool.loops = nullptr;
  }

  // All others with the lock held.

  bool has_work() const noexcept { return first != nullptr || loops != nullptr; }
  int awake() const noexcept { return threads - sleeping - waiting; }

  // Something is to be done: wakes a thread or starts one, if the size allows.
  void call_thread() {
    if (awake() >= size) return;
    if (sleeping > 0) {
      --sleeping;
      ++tokens;
      changed.fetch_add(1, std::memory_order_relaxed);
      wake(changed, 1);
    } else if (threads < kMostThreads) {
      start_thread();
    }
  }

  void start_thread() {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    // Signals are for the program's own threads; faults go to the thread that has them.
    sigset_t blocked;
    sigset_t former;
    sigfillset(&blocked);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) {
      sigdelset(&blocked, fault);
    }
    pthread_sigmask(SIG_SETMASK, &blocked, &former);
    pthread_t thread;
    if (pthread_create(&thread, &attributes, run_thread, this) == 0) {
      ++threads;
      pthread_setname_np(thread, "opyard-pool");
    }
    pthread_sigmask(SIG_SETMASK, &former, nullptr);
    pthread_attr_destroy(&attributes);
  }

  Job*& bucket_of(const void* completes) noexcept {
    return table[reinterpret_cast<std::uintptr_t>(completes) / 64 % kBuckets];
  }
  Job* find(const void* completes) noexcept {
    Job* job = bucket_of(completes);
    while (job != nullptr && job->completes_ != completes) job = job->next_in_table_;
    return job;
  }
  void forget(Job* job) noexcept {
    Job** at = &bucket_of(job->completes_);
    while (*at != job) at = &(*at)->next_in_table_;
    *at = job->next_in_table_;
  }

  void append(CountedPtr<Job> owned) noexcept {
    Job* const job = owned.release();
    job->queued_ = true;
    job->process_ = process;
    job->later_ = nullptr;
    job->earlier_ = std::exchange(last, job);
    (job->earlier_ == nullptr ? first : job->earlier_->later_) = job;
  }
  CountedPtr<Job> take(Job* job) noexcept {
    (job->earlier_ == nullptr ? first : job->earlier_->later_) = job->later_;
    (job->later_ == nullptr ? last : job->later_->earlier_) = job->earlier_;
    job->queued_ = false;
    return CountedPtr<Job>::steal(job);
  }

  // Runs a job that was begun, with the lock released meanwhile. It leaves the table in whatever
  // way it ends.
  void run(CountedPtr<Job> job, std::unique_lock<Mutex>& lock) {
    struct Leave {
      Pool& pool;
      CountedPtr<Job>& job;
      std::unique_lock<Mutex>& lock;
      ~Leave() {
        lock.lock();
        pool.forget(job.get());
        lock.unlock();
        job.reset();
        lock.lock();
      }
    } const leave{*this, job, lock};
    job->begun_ = true;
    lock.unlock();
    job->run();
  }

  void help(Loop* loop, std::unique_lock<Mutex>& lock) {
    if (--loop->wanted_ == 0) unlink(loop);
    ++loop->helpers_;
    // The loop is gone as soon as the lock is released behind its last helper.
    const struct Leave {
      Loop* loop;
      std::unique_lock<Mutex>& lock;
      ~Leave() {
        lock.lock();
        if (--loop->helpers_ > 0) return;
        loop->left_.fetch_add(1, std::memory_order_relaxed);
        wake(loop->left_, INT_MAX);
      }
    } leave{loop, lock};
    lock.unlock();
    loop->help();
  }
  void unlink(Loop* loop) noexcept {
    for (Loop** at = &loops; *at != nullptr; at = &(*at)->next_) {
      if (*at != loop) continue;
      *at = loop->next_;
      return;
    }
  }

  void sleep(std::unique_lock<Mutex>& lock) {
    ++sleeping;
    do {
      const std::uint32_t seen = changed.load(std::memory_order_relaxed);
      lock.unlock();
      sleep_on(changed, seen);
      lock.lock();
    } while (tokens == 0);
    --tokens;
  }

  void work(std::unique_lock<Mutex>& lock) {
    // After a fork inside of a job this thread is the child's only one, and ends behind the job.
    while (works_for == process) {
      if (!has_work() || awake() > size) {
        sleep(lock);
      } else if (loops != nullptr) {
        help(loops, lock);
      } else {
        run(take(first), lock);
      }
    }
  }

  static void* run_thread(void* given) {
    Pool& pool = *static_cast<Pool*>(given);
    std::unique_lock lock(pool.mutex);
    works_for = pool.process;
    // Also if an interpreter that has ended unwinds the thread.
    const struct Leave {
      Pool& pool;
      ~Leave() {
        if (works_for == pool.process) --pool.threads;
      }
    } leave{pool};
    pool.work(lock);
    return nullptr;
  }

  // What the functions of pool/queue.h do, without the lock held.

  void queue(CountedPtr<Job> job) {
    std::unique_lock lock(mutex);
    Job*& bucket = bucket_of(job->completes_);
    job->next_in_table_ = std::exchange(bucket, job.get());
    Job* const queued = job.get();
    append(std::move(job));
    call_thread();
    if (threads == 0) run(take(queued), lock);
  }

  bool help_to_complete(const void* what, bool timed) {
    std::unique_lock lock(mutex);
    Job* const job = find(what);
    if (job == nullptr) return false;
    if (job->begun_) {
      OPYARD_CHECK(
          job->process_ == process, BadFuture,
          "a thread of the parent was running this task when this process was forked, so it "
          "is never completed here; wait before the fork, or start the task anew");
      return false;
    }
    // See [Fork]: its place in the parent's queue is not there.
    if (job->process_ != process) {
      append(CountedPtr<Job>::steal(job));
      if (timed) call_thread();
    }
    if (timed || help_depth == kDeepestHelp) {
      OPYARD_CHECK(waiting < kMostThreads, BadFuture,
                   "tasks wait for each other so deep that the pool has no threads left");
      return false;
    }
    ++help_depth;
    const struct Leave {
      ~Leave() { --help_depth; }
    } leave;
    run(take(job), lock);
    return true;
  }

  void offer(Loop& loop, int helpers) {
    const std::lock_guard lock(mutex);
    loop.process_ = process;
    loop.wanted_ = helpers;
    loop.next_ = std::exchange(loops, &loop);
    for (int i = 0; i < helpers; ++i) call_thread();
  }

  bool withdraw(Loop& loop) {
    std::unique_lock lock(mutex);
    unlink(&loop);
    while (loop.helpers_ > 0 && loop.process_ == process) {
      const std::uint32_t seen = loop.left_.load(std::memory_order_relaxed);
      lock.unlock();
      sleep_on(loop.left_, seen);
      lock.lock();
    }
    return loop.helpers_ == 0;
  }
};

Asleep::Asleep() : counts_(works_for != 0) {
  if (!counts_) return;
  Pool& pool = Pool::of_process();
  const std::lock_guard lock(pool.mutex);
  ++pool.waiting;
  if (pool.has_work()) pool.call_thread();
}

Asleep::~Asleep() {
  if (!counts_) return;
  Pool& pool = Pool::of_process();
  const std::lock_guard lock(pool.mutex);
  if (works_for == pool.process) --pool.waiting;
}

void queue_job(CountedPtr<Job> job) {
  thread_count();  // raises before anything is queued
  is_used.store(true, std::memory_order_relaxed);
  Pool::of_process().queue(std::move(job));
}

bool help_to_complete(const void* what, bool timed) {
  return is_used.load(std::memory_order_relaxed) &&
         Pool::of_process().help_to_complete(what, timed);
}

void offer(Loop& loop, int helpers) { Pool::of_process().offer(loop, helpers); }
bool withdraw(Loop& loop) { return Pool::of_process().withdraw(loop); }

}  // namespace detail

int thread_count() {
  detail::Pool& pool = detail::Pool::of_process();
  {
    const std::lock_guard lock(pool.mutex);
    if (pool.size != 0) return pool.size;
  }
  const int chosen = detail::size_from_environment();
  const std::lock_guard lock(pool.mutex);
  if (pool.size == 0) pool.size = chosen;
  return pool.size;
}

void set_thread_count(int count) {
  if (count < 1 || count > detail::kMostThreads) {
    fail(ErrorKind::BadValue, fmt::format("a pool of {} threads was asked for; it has from 1 to {}",
                                          count, detail::kMostThreads));
  }
  detail::Pool& pool = detail::Pool::of_process();
  const std::lock_guard lock(pool.mutex);
  pool.size = count;
}

}  // namespace opyard
