// pool/queue.h: the work queue of the pool: jobs, which someone may wait for, and loops.
//
// Depends on: base/counted.h, base/mutex.h.
#pragma once

#include <atomic>
#include <cstdint>

#include "opyard/base/counted.h"

namespace opyard::detail {

// Runs once, on a thread of the pool or on one that waits for it.
class Job : public Counted {
 public:
  // `completes` is what the job will have completed when it has run: by this address waiters find
  // it.
  explicit Job(const void* completes) noexcept : completes_(completes) {}
  ~Job() override;

  // Lets nothing out but the forced unwinding of its thread.
  virtual void run() = 0;

 private:
  friend struct Pool;

  const void* const completes_;
  // Under the pool's lock.
  Job* earlier_ = nullptr;  // in the queue
  Job* later_ = nullptr;
  Job* next_in_table_ = nullptr;
  std::uint64_t process_ = 0;  // which fork's child it was queued in
  bool queued_ = false;
  bool begun_ = false;
};

// Runs it on a thread of the pool; at once on this thread if the pool has none and cannot start
// one.
void queue_job(CountedPtr<Job> job);

// For a thread that is about to wait for what a job completes. If no one has begun the job, it is
// run here and now, unless the wait has a timeout. Gives whether it was. Raises BadFuture for a job
// that no one will complete, see opyard/pool/pool.h, [Fork].
bool help_to_complete(const void* what, bool timed);

// This thread sleeps until another has done something. If it is one of the pool's, another one may
// compute in its place meanwhile.
class Asleep {
 public:
  Asleep();
  Asleep(const Asleep&) = delete;
  Asleep& operator=(const Asleep&) = delete;
  ~Asleep();

 private:
  const bool counts_;
};

// A loop that wants helpers. It is on the stack of its caller, which leaves when no helper is
// inside.
class Loop {
 public:
  // Takes ranges until none is left. Lets nothing out but forced unwinding.
  virtual void help() = 0;

 protected:
  ~Loop() = default;

 private:
  friend struct Pool;

  // Under the pool's lock.
  Loop* next_ = nullptr;
  int wanted_ = 0;
  int helpers_ = 0;
  std::uint64_t process_ = 0;
  std::atomic<std::uint32_t> left_{0};  // grows whenever the last helper leaves
};

// Asks for up to `helpers` threads of the pool.
void offer(Loop& loop, int helpers);
// Asks no more, and sleeps until the helpers have left. False if some never will, because they are
// threads of the process that this one was forked from.
bool withdraw(Loop& loop);

}  // namespace opyard::detail
