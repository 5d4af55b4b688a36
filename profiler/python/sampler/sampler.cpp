// sampler/sampler.cpp: the sampler's thread, and the times of what it samples.
//
// [Times] A thread's CPU clock says how long it had a processor since its last sample. That, and as
// much of the clock's time, belongs to the stack that is found now; if it waited before, to the
// stack that it had then. So waits and work stay apart, however seldom it is looked after. A thread
// that ran and then stopped is found where it stopped, in a call of the system mostly: what it ran
// before that belongs to the stack in which it was found running.
//
// [Cost] A sample may take kMostOwnCost of CPU time, its wake-up with it: 2.2 % at 1,000 a second,
// and some more for what it takes from the caches of the program. If they take more, because there
// are many threads or the machine is slow to wake one, they become rarer in that proportion, and
// the profile says how often they were.
#include "sampler/sampler.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "opyard/base/error.h"
#include "sampler/sampled_stacks.h"

namespace opyard::python {
namespace {

using profiler::SampledFrame;
using profiler::SampleTree;

// How many samples a thread that waits is left out, at most: none if there are few threads.
constexpr std::uint32_t kMostSkipped = 16;
constexpr std::size_t kThreadsOfOneSkip = 8;
constexpr std::uint32_t kListEvery = 16;  // samples between two looks at all threads

constexpr std::int64_t kMostOwnCost = 22'000;
constexpr std::uint64_t kRoundsOfCost = 16;

std::int64_t clock_ns(clockid_t clock) noexcept {
  timespec now;
  if (clock_gettime(clock, &now) != 0) return -1;
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}
std::int64_t now_ns() noexcept { return clock_ns(CLOCK_MONOTONIC); }

// The CPU time of a thread of this process by the kernel's number; -1 if there is none.
std::int64_t cpu_time_of(std::int64_t native_id) noexcept {
  if (native_id <= 0) return -1;
  // As pthread_getcpuclockid() makes it, which would look into the thread's memory.
  return clock_ns(clockid_t(~std::uint32_t(native_id) << 3 | 6));
}

// A thread, and its last sample.
struct Watched {
  SampledThread thread;
  StackPlace place;
  std::uint32_t root = 0;
  std::uint32_t node = 0;
  std::vector<SampledFrame> stack;
  std::int64_t time = 0;
  std::int64_t cpu = -1;      // -1 if it is not known
  bool ran = false;           // for half of the time before, at least
  std::uint32_t skip = 0;     // how many samples to leave out now
  std::uint32_t skipped = 0;  // how many were left out last
  bool is_listed = false;
};

class Sampler {
 public:
  Sampler(const SamplerOptions& options, Py_ssize_t word_index)
      : options_(options),
        period_(options.period_ns),
        interpreter_(PyInterpreterState_Get()),
        tree_(options.bounds, options.period_ns),
        stacks_(interpreter_, word_index) {}

  PyInterpreterState* interpreter() const noexcept { return interpreter_; }
  SampleTree& tree() noexcept { return tree_; }

  void start_thread() {
    const int failed = pthread_create(&thread_, nullptr, &run, this);
    OPYARD_CHECK(failed == 0, OutOfMemory, "the system has no room for the sampler's thread");
    has_thread_ = true;
  }
  void end_thread() noexcept {
    if (!has_thread_) return;
    is_stopping_.store(true);
    pthread_join(thread_, nullptr);
    has_thread_ = false;
  }

  // Held while a sample is taken. See [Fork].
  std::mutex mutex;

  void sample();
  void sample_known(const std::vector<KnownStack>& stacks);
  profiler::Profile finish();

 private:
  static void* run(void* self) noexcept;
  void loop();
  void bound_cost();
  void list_threads(std::int64_t now, Address first);
  void look_at(Watched& watched, std::int64_t now, Address holder);
  void end_thread_of(Watched& watched, std::int64_t now);
  Watched& watch(const SampledThread& thread, std::int64_t now);

  const SamplerOptions options_;
  std::int64_t period_;  // from one sample to the next, see [Cost]
  PyInterpreterState* const interpreter_;
  SampleTree tree_;
  SampledStacks stacks_;
  std::unordered_map<Address, Watched> watched_;  // by thread state
  std::vector<SampledThread> listed_;
  std::vector<SampledFrame> stack_;
  Address first_ = 0;
  std::uint32_t until_list_ = 0;
  pthread_t thread_{};
  bool has_thread_ = false;
  std::atomic<bool> is_stopping_{false};
  std::uint64_t torn_ = 0;
  std::uint64_t late_ = 0;
  std::uint64_t lists_lost_ = 0;
  std::uint64_t rounds_ = 0;
  std::uint64_t gil_held_ = 0;
  std::int64_t own_cpu_ = 0;  // what the thread took itself
  std::int64_t measured_cpu_ = 0;
  bool lacked_memory_ = false;
};

Watched& Sampler::watch(const SampledThread& thread, std::int64_t now) {
  Watched& found = watched_[thread.state];
  const bool is_same = found.root != 0 && found.thread.ident == thread.ident &&
                       found.thread.native_id == thread.native_id;
  if (!is_same) {
    found = Watched();
    found.root = found.node = tree_.add_thread(thread.ident, thread.native_id);
    found.time = now;
    found.cpu = cpu_time_of(thread.native_id);
  }
  found.thread = thread;
  found.is_listed = true;
  return found;
}

void Sampler::list_threads(std::int64_t now, Address first) {
  if (first == first_ && until_list_-- != 0) return;
  until_list_ = kListEvery;
  if (!stacks_.find_threads(listed_)) {
    ++lists_lost_;
    return;  // the ones that are known stay
  }
  first_ = first;
  for (auto& [state, watched] : watched_) watched.is_listed = false;
  for (const SampledThread& thread : listed_) watch(thread, now);
  std::erase_if(watched_, [](const auto& one) { return !one.second.is_listed; });
}

// See [Times].
void Sampler::look_at(Watched& watched, std::int64_t now, Address holder) {
  if (watched.skip > 0 && watched.thread.state != holder) {
    --watched.skip;
    return;
  }
  const std::int64_t cpu = cpu_time_of(watched.thread.native_id);
  const std::int64_t wall = now - watched.time;
  if (cpu >= 0 && cpu == watched.cpu && !watched.stack.empty()) {
    tree_.add(watched.node, watched.stack, wall, 0, now);
    watched.time = now;
    watched.ran = false;
    const auto most = std::uint32_t(watched_.size() / kThreadsOfOneSkip);
    watched.skipped = std::min({watched.skipped * 2 + 1, kMostSkipped, most});
    watched.skip = watched.skipped;
    return;
  }
  switch (stacks_.read(watched.thread, watched.place, stack_)) {
    case SampledStacks::Result::Gone:
      until_list_ = 0;
      return;
    case SampledStacks::Result::Torn:
      ++torn_;  // its time goes to the next one
      return;
    case SampledStacks::Result::Whole:
      break;
  }
  const std::int64_t taken = cpu < 0 || watched.cpu < 0 ? wall : cpu - watched.cpu;
  const bool ran = taken * 2 >= wall;
  const bool has_stopped = !ran && watched.ran && !watched.stack.empty();
  const std::int64_t since =
      has_stopped ? wall - taken : std::min(wall, std::max(taken, options_.period_ns));
  if (wall > since && !watched.stack.empty()) {
    tree_.add(watched.node, watched.stack, wall - since, has_stopped ? taken : 0, now);
  }
  watched.node = tree_.find(watched.root, stack_);
  watched.stack.assign(stack_.begin(), stack_.end());
  tree_.add(watched.node, watched.stack, since, has_stopped ? 0 : taken, now);
  watched.ran = ran;
  watched.time = now;
  watched.cpu = cpu;
  watched.skip = watched.skipped = 0;
}

void Sampler::sample() {
  const std::int64_t now = now_ns();
  const InterpreterFacts facts = stacks_.facts();
  ++rounds_;
  if (facts.gil_holder != 0) ++gil_held_;
  list_threads(now, facts.first_thread);
  for (auto& [state, watched] : watched_) look_at(watched, now, facts.gil_holder);
}

void Sampler::sample_known(const std::vector<KnownStack>& stacks) {
  const std::int64_t now = now_ns();
  for (auto& [state, watched] : watched_) watched.is_listed = false;
  for (const KnownStack& known : stacks) {
    // Threads by what CPython calls them: their states are not read.
    const SampledThread thread{Address(known.ident), 0, known.ident,
                               native_id_of_pthread(known.ident)};
    Watched& watched = watch(thread, now);
    const std::int64_t cpu = cpu_time_of(thread.native_id);
    const std::int64_t wall = now - watched.time;
    const std::int64_t taken = cpu < 0 || watched.cpu < 0 ? wall : cpu - watched.cpu;
    watched.node = tree_.find(watched.root, known.frames);
    tree_.add(watched.node, known.frames, wall, taken, now);
    watched.time = now;
    watched.cpu = cpu;
  }
  ++rounds_;
  std::erase_if(watched_, [](const auto& one) { return !one.second.is_listed; });
}

// See [Cost].
void Sampler::bound_cost() {
  own_cpu_ = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  if (rounds_ % kRoundsOfCost != 0) return;
  const std::int64_t each = (own_cpu_ - measured_cpu_) / std::int64_t(kRoundsOfCost);
  measured_cpu_ = own_cpu_;
  const double factor = std::max(1.0, double(each) / double(kMostOwnCost));
  period_ = std::int64_t(double(options_.period_ns) * factor);
}

void Sampler::loop() {
  std::int64_t next = now_ns();
  while (!is_stopping_.load(std::memory_order_relaxed)) {
    next += period_;
    const std::int64_t now = now_ns();
    if (now > next + period_) {  // samples that are missed are not made up for
      late_ += std::uint64_t((now - next) / period_);
      next = now;
    }
    const timespec until{next / 1'000'000'000, next % 1'000'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
    const std::lock_guard lock(mutex);
    sample();
    bound_cost();
  }
}

void* Sampler::run(void* self) noexcept {
  auto& sampler = *static_cast<Sampler*>(self);
  pthread_setname_np(pthread_self(), "opyard-sampler");
  try {
    sampler.loop();
  } catch (const std::bad_alloc&) {
    sampler.lacked_memory_ = true;  // what was sampled until now is shown
  }
  return nullptr;
}

profiler::Profile Sampler::finish() {
  profiler::Profile profile = tree_.finish(now_ns());
  // As it was: samples were late, or became rarer.
  if (rounds_ > 0) {
    profile.sample_period_ns =
        std::max(options_.period_ns, profile.duration / std::int64_t(rounds_));
  }
  profile.quality.lost = torn_;
  const std::pair<const char*, std::uint64_t> notes[] = {
      {"sample period ns", std::uint64_t(profile.sample_period_ns)},
      {"sample period asked for ns", std::uint64_t(options_.period_ns)},
      {"rounds of samples", rounds_},
      {"rounds in which the GIL was held", gil_held_},
      {"rounds that came too late", late_},
      {"CPU time of the sampler ns", std::uint64_t(own_cpu_)},
      {"lists of threads that were torn", lists_lost_},
      {"the sampler ran out of memory", lacked_memory_ ? 1 : 0},
      {"samples were taken with the GIL", options_.with_gil ? 1 : 0}};
  for (const auto& [note, number] : notes) {
    if (number != 0) profile.quality.notes.emplace_back(note, number);
  }
  return profile;
}

// The one that is on. Its thread is joined before it goes.
std::mutex start_mutex;
Sampler* sampler = nullptr;

// See [Fork].
void before_fork() {
  start_mutex.lock();
  if (sampler != nullptr) sampler->mutex.lock();
}
void after_fork() {
  if (sampler != nullptr) sampler->mutex.unlock();
  start_mutex.unlock();
}
void in_child() {
  // Its thread is not here, so it cannot be destroyed: a thread that is joined has to be.
  if (sampler != nullptr) sampler->mutex.unlock();
  sampler = nullptr;
  start_mutex.unlock();
}

}  // namespace

void start_sampler(const SamplerOptions& options, Py_ssize_t word_index) {
  static const bool handled = pthread_atfork(before_fork, after_fork, in_child) == 0;
  OPYARD_CHECK(handled, OutOfMemory, "the process has no room for fork handlers");
  auto made = std::make_unique<Sampler>(options, word_index);
  const std::lock_guard lock(start_mutex);
  OPYARD_CHECK(sampler == nullptr, BadRegistration,
               "a sampling profile is active already; one process has one at a time: stop it "
               "before you start another");
  if (!options.with_gil) made->start_thread();
  sampler = made.release();
}

bool has_sampler() noexcept {
  const std::lock_guard lock(start_mutex);
  return sampler != nullptr;
}

std::size_t bytes_of_sampler() {
  const std::lock_guard lock(start_mutex);
  if (sampler == nullptr) return 0;
  const std::lock_guard sample_lock(sampler->mutex);
  return sampler->tree().bytes();
}

void sample_with_gil(const std::vector<KnownStack>& stacks) {
  const std::lock_guard lock(start_mutex);
  if (sampler == nullptr || sampler->interpreter() != PyInterpreterState_Get()) return;
  const std::lock_guard sample_lock(sampler->mutex);
  sampler->sample_known(stacks);
}

profiler::Profile stop_sampler() {
  std::unique_ptr<Sampler> ending;
  {
    const std::lock_guard lock(start_mutex);
    OPYARD_CHECK(sampler != nullptr && sampler->interpreter() == PyInterpreterState_Get(),
                 BadRegistration,
                 "no sampling profile of this interpreter is active; start one before you stop it");
    ending.reset(std::exchange(sampler, nullptr));
  }
  Py_BEGIN_ALLOW_THREADS;
  ending->end_thread();
  Py_END_ALLOW_THREADS;
  return ending->finish();
}

}  // namespace opyard::python
