// pool/parallel_for.cpp: splitting a loop into ranges for the pool.
//
// Ranges are taken one by one from a counter, by the caller and those who help, so that a slow
// thread holds up one range only. There are a few for each thread; where they begin depends on the
// size of the loop and of the pool alone.
#include "opyard/pool/parallel_for.h"

#include <cxxabi.h>

#include <algorithm>
#include <exception>
#include <optional>

#include "opyard/base/error.h"
#include "opyard/interpreter/gil.h"
#include "opyard/pool/pool.h"
#include "opyard/thread/thread_context.h"
#include "pool/queue.h"

namespace opyard {
namespace {

constexpr std::uint64_t kRangesOfAThread = 4;

// Whether this thread is inside the body of a loop.
constinit thread_local bool is_in_parallel = false;

struct Inside {
  Inside() noexcept : former(std::exchange(is_in_parallel, true)) {}
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { is_in_parallel = former; }
  const bool former;
};

class SharedLoop final : public detail::Loop {
 public:
  SharedLoop(std::int64_t begin, std::uint64_t count, std::uint64_t ranges, RangeFunction function,
             void* body)
      : begin_(begin),
        count_(count),
        step_(count / ranges + (count % ranges != 0 ? 1 : 0)),
        function_(function),
        body_(body),
        context_(ThreadContext::capture()) {}
  SharedLoop(const SharedLoop&) = delete;
  SharedLoop& operator=(const SharedLoop&) = delete;
  // No one is inside any more, also if this thread is being ended by force.
  ~SharedLoop() {
    if (offered_) leave();
  }

  void run(int helpers) {
    detail::offer(*this, helpers);
    offered_ = true;
    take_ranges();
    const bool whole = without_gil([&] { return leave(); });
    if (error_ != nullptr) std::rethrow_exception(error_);
    OPYARD_CHECK(
        whole, BadFuture,
        "this process was forked inside of a loop on several threads, which are not here to end "
        "it; fork outside of the loop");
  }

  void help() override {
    if (const std::exception_ptr error = thrown_by([&] {
          const ThreadContextScope scope(context_);
          take_ranges();
        })) {
      remember(error);
    }
  }

 private:
  bool leave() {
    offered_ = false;
    next_.store(count_, std::memory_order_relaxed);  // nothing is left to take
    return detail::withdraw(*this);
  }

  void take_ranges() {
    const Inside inside;
    const auto body = [&] {
      for (;;) {
        std::uint64_t first = next_.load(std::memory_order_relaxed);
        std::uint64_t last;
        do {
          if (first >= count_) return;
          last = first + std::min(step_, count_ - first);
        } while (!next_.compare_exchange_weak(first, last, std::memory_order_relaxed));
        function_(body_, std::int64_t(std::uint64_t(begin_) + first),
                  std::int64_t(std::uint64_t(begin_) + last));
      }
    };
    if (std::exception_ptr error = thrown_by(body)) remember(std::move(error));
  }

  template <typename Body>
  OPYARD_CATCHES_FORCED_UNWIND static std::exception_ptr thrown_by(Body&& body) {
    try {
      body();
      return nullptr;
    } catch (abi::__forced_unwind&) {
      throw;
    } catch (...) {
      return std::current_exception();
    }
  }

  // The first one is stored; read when all have left.
  void remember(std::exception_ptr error) noexcept {
    next_.store(count_, std::memory_order_relaxed);
    if (!failed_.exchange(true, std::memory_order_relaxed)) error_ = std::move(error);
  }

  const std::int64_t begin_;
  const std::uint64_t count_;
  const std::uint64_t step_;
  const RangeFunction function_;
  void* const body_;
  const ThreadContext context_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
  bool offered_ = false;
};

}  // namespace

void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain, RangeFunction function,
                  void* context) {
  OPYARD_CHECK(grain >= 1, BadValue, "the grain of a loop is at least 1");
  if (begin >= end) return;
  const std::uint64_t count = std::uint64_t(end) - std::uint64_t(begin);
  const std::uint64_t most = count / std::uint64_t(grain);
  if (most <= 1 || is_in_parallel) return function(context, begin, end);
  const std::uint64_t threads = std::uint64_t(thread_count());
  if (threads == 1) return function(context, begin, end);
  const std::uint64_t ranges = std::min(most, threads * kRangesOfAThread);
  SharedLoop(begin, count, ranges, function, context).run(int(std::min(threads, ranges) - 1));
}

}  // namespace opyard
