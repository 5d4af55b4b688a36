// value/future.cpp: completing futures, waiting for them, and running their continuations.
//
// Overview: a future has no lock, so that none can be held while a GIL is taken or code of a user
// runs, and none can be inherited by the child of a fork. The callbacks are a chain to which adders
// put the newest first. Completing it is
//   1. claim: one thread sets claimed_, and alone writes the result;
//   2. publish: it swaps kClosed into the head of the chain. A thread that finds kClosed there sees the
//      result; one that came before is in the chain that the swap gave;
//   3. wake those who sleep, and run the chain, oldest first.
//
// [Sleeping] is a futex on awake_. A sleeper counts itself before it looks for kClosed, and the
// completer looks for sleepers after it put kClosed there, both sequentially consistent: so either
// the completer wakes it or it does not go to sleep.
//
// [Tasks] The pool finds the task that completes a future (value/task.h): a thread that waits for
// it runs it, if no one has begun. A thread of the pool that goes to sleep leaves its place to
// another. The lock of an interpreter is released meanwhile: the task may need it.
//
// [Run] A thread that is running callbacks has a Run: the callbacks that are still to come, and the
// one that is being run. Completing another future in a callback appends to it. A wait inside a
// callback works it off first, since it may hold the callback that the wait is for.
//
// [Own wait] A callback of then() that waits for the future which it completes would wait for ever.
// Each callback says which future it completes, so the wait can tell.
//
// [Death] A pending future may hold a long chain of others through its callbacks. Those that die
// while one is dying leave their callbacks and values to it, so that length costs no stack.
#include "opyard/detail/value/future_object.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>
#include <memory>
#include <utility>

#include "opyard/base/warning.h"
#include "opyard/detail/base/mutex.h"
#include "opyard/interpreter/gil.h"
#include "opyard/thread/thread_context.h"
#include "opyard/value/alias.h"
#include "pool/queue.h"
#include "value/hashing.h"

namespace opyard {

// A callback in the chain of its future, and later in a thread's Run.
struct FutureObject::Node {
  Callback callback;
  ThreadContext context;               // of the thread that added it
  const FutureObject* completes;       // owned by the callback; may be null
  Node* next;                          // the older one; in a Run, the one that comes after
  CountedPtr<FutureObject> completed;  // set when it comes into a Run
  Node* outer = nullptr;               // in a Run, the one inside of which it runs

  void run();
};

// See [Run].
struct FutureObject::Run {
  static inline constinit thread_local Run* current = nullptr;

  Run() noexcept { current = this; }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  // Something is left only if the thread is being ended by force.
  ~Run() {
    current = nullptr;
    while (Node* const node = first) {
      first = node->next;
      delete node;
    }
  }

  void append(Node* oldest, Node* newest) noexcept {
    (last == nullptr ? first : last->next) = oldest;
    last = newest;
  }

  void work_off() {
    while (first != nullptr) {
      const std::unique_ptr<Node> node(std::exchange(first, first->next));
      if (first == nullptr) last = nullptr;
      node->outer = std::exchange(active, node.get());
      const struct Leave {
        Run& run;
        ~Leave() { run.active = run.active->outer; }
      } leave{*this};
      node->run();
    }
  }

  // See [Own wait].
  bool is_inside_of(const FutureObject* future) const noexcept {
    for (const Node* node = active; node != nullptr; node = node->outer) {
      if (node->completes == future) return true;
    }
    return false;
  }

  Node* first = nullptr;
  Node* last = nullptr;
  Node* active = nullptr;
};

// See [Death].
struct FutureObject::Death {
  static inline constinit thread_local Death* current = nullptr;

  Death() noexcept { current = this; }
  Death(const Death&) = delete;
  Death& operator=(const Death&) = delete;
  ~Death() {
    while (nodes != nullptr || !values.empty()) {
      if (Node* const node = nodes) {
        nodes = node->next;
        delete node;
      } else {
        const Value value = std::move(values.back());
        values.pop_back();
      }
    }
    current = nullptr;
  }

  void take(Node* newest) noexcept {
    while (newest != nullptr) {
      Node* const older = std::exchange(newest->next, nodes);
      nodes = std::exchange(newest, older);
    }
  }
  void take(Value& value) noexcept {
    if (!value.is_future() && !detail::is_container(value.kind())) return;
    try {
      values.push_back(std::move(value));
    } catch (const std::bad_alloc&) {
      // It stays, and costs one more level of stack.
    }
  }

  Node* nodes = nullptr;
  std::vector<Value> values;
};

namespace {

// Runs a body; gives what it throws, but lets a thread that is being ended go.
template <typename Body>
OPYARD_CATCHES_FORCED_UNWIND std::exception_ptr thrown_by(Body&& body) {
  try {
    std::forward<Body>(body)();
    return nullptr;
  } catch (abi::__forced_unwind&) {
    throw;
  } catch (...) {
    return std::current_exception();
  }
}

std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "something was thrown that is no std::exception";
  }
}

// Shares nothing with the other, so that what it carries has as many owners as there are errors.
Error copy_of(const Error& error) { return Error(error.kind(), error.what(), error.carried()); }

void check_devices(const std::vector<Device>& devices) {
  for (const Device device : devices) {
    if (device.index < 0) {
      fail(ErrorKind::BadValue,
           fmt::format(
               "the devices of a future need an index, as in '{0}:0', but one of them is '{0}'",
               to_string(device)));
    }
    if (device.backend != Backend::CPU && device.backend != Backend::Meta) {
      fail(ErrorKind::Unsupported,
           fmt::format("a future for {} would have to record an event there when it is completed, "
                       "and no backend of this version records events; copy the value to the cpu "
                       "before completing the future",
                       to_string(device)));
    }
  }
}

bool may_hold_others(const Value& value) noexcept {
  return value.is_tensor() || value.is_object() || value.is_future() ||
         detail::is_container(value.kind());
}

// The end of a wait.
class Deadline {
 public:
  explicit Deadline(std::optional<FutureObject::Duration> timeout)
      : end_(timeout && *timeout < kFar ? std::optional(std::chrono::steady_clock::now() + *timeout)
                                        : std::nullopt) {}

  // What is left, for the kernel; false if nothing is.
  bool left(timespec& time) const {
    const auto rest = *end_ - std::chrono::steady_clock::now();
    if (rest <= rest.zero()) return false;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(rest);
    time = {time_t(seconds.count()), long(std::chrono::nanoseconds(rest - seconds).count())};
    return true;
  }
  bool exists() const noexcept { return end_.has_value(); }

 private:
  static constexpr FutureObject::Duration kFar = std::chrono::hours(24 * 365);
  const std::optional<std::chrono::steady_clock::time_point> end_;
};

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* time) noexcept {
  static_assert(sizeof word == 4);
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, time,
                 nullptr, 0);
}

}  // namespace

void FutureObject::Node::run() {
  const auto call = [&] {
    const ThreadContextScope scope(context);
    callback(*completed);
  };
  if (const std::exception_ptr error = thrown_by(call)) {
    const auto say = [&] { warn("a callback of a future failed: " + message_of(error)); };
    static_cast<void>(thrown_by(say));  // a warning that is raised has no one who could catch it
  }
}

FutureObject::FutureObject(CountedPtr<const FutureElement> element, std::vector<Device> devices)
    : element_(std::move(element)), devices_(std::move(devices)) {
  check_devices(devices_);
}

FutureObject::~FutureObject() {
  if (has_error() && !seen_.load(std::memory_order_relaxed) && !cancelled()) {
    try {
      warn_late("a future failed, and no one has looked at its error: " + *error_message());
    } catch (const std::exception&) {
      // There is no memory for the text.
    }
  }
  Node* const pending = completed() ? nullptr : callbacks_.load(std::memory_order_acquire);
  if (Death::current != nullptr) {
    Death::current->take(pending);
    Death::current->take(value_);
    return;
  }
  Death death;
  death.take(pending);
  death.take(value_);
}

bool FutureObject::cancelled() const noexcept {
  return completed() && error_ && error_->kind() == ErrorKind::Cancelled;
}

bool FutureObject::wait_until_completed(std::optional<Duration> timeout) {
  if (completed()) return true;
  if (Run* const run = Run::current) {
    run->work_off();
    if (completed()) return true;
    OPYARD_CHECK(!run->is_inside_of(this), BadFuture,
                 "the callback that completes this future waits for it, on the same thread, so "
                 "neither would ever go on");
  }
  return block(timeout);
}

// See [Sleeping] and [Tasks].
bool FutureObject::block(std::optional<Duration> timeout) {
  assert_no_lock_held();
  const GilReleased released;
  detail::help_to_complete(this, timeout.has_value());
  if (completed()) return true;
  const detail::Asleep asleep;
  const Deadline deadline(timeout);
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  const struct Leave {
    std::atomic<std::uint32_t>& sleepers;
    ~Leave() { sleepers.fetch_sub(1, std::memory_order_relaxed); }
  } leave{sleepers_};
  while (callbacks_.load(std::memory_order_seq_cst) != kClosed) {
    timespec left{};
    if (deadline.exists() && !deadline.left(left)) return false;
    // Woken, interrupted, late or for no reason: the loop finds out.
    futex(awake_, FUTEX_WAIT_PRIVATE, 0, deadline.exists() ? &left : nullptr);
  }
  return true;
}

const Value& FutureObject::wait() {
  wait_until_completed(std::nullopt);
  return value();
}

const Value& FutureObject::wait(Duration timeout) {
  if (!wait_until_completed(timeout)) {
    fail(ErrorKind::TimedOut, fmt::format("the future was not completed within {} seconds",
                                          std::chrono::duration<double>(timeout).count()));
  }
  return value();
}

const Value& FutureObject::value() const {
  OPYARD_CHECK(completed(), BadFuture,
               "the future is not completed, so it has no value yet; wait() waits for it");
  if (failed()) throw_error();
  return value_;
}

void FutureObject::throw_error() const {
  seen_.store(true, std::memory_order_relaxed);
  if (error_) throw copy_of(*error_);  // each thread has an exception of its own
  std::rethrow_exception(foreign_error_);
}

std::exception_ptr FutureObject::exception_ptr() const {
  if (!has_error()) return nullptr;
  seen_.store(true, std::memory_order_relaxed);
  return error_ ? std::make_exception_ptr(copy_of(*error_)) : foreign_error_;
}

std::optional<std::string> FutureObject::error_message() const {
  if (!has_error()) return std::nullopt;
  seen_.store(true, std::memory_order_relaxed);
  return error_ ? error_->what() : message_of(foreign_error_);
}

std::optional<Error> FutureObject::error() const {
  if (!has_error()) return std::nullopt;
  seen_.store(true, std::memory_order_relaxed);
  return error_ ? std::optional(copy_of(*error_)) : std::nullopt;
}

void FutureObject::refuse_again() const {
  OPYARD_CHECK(
      !cancelled(), BadFuture,
      "the future was cancelled, so it takes no value and no error any more; a producer asks "
      "cancelled(), or in C++ uses set_value_if_needed() and set_error_if_needed()");
  fail(ErrorKind::BadFuture,
       "the future is completed already, and a future is completed only once; ask done(), or in "
       "C++ use set_value_if_needed() and set_error_if_needed(), which leave it as it is");
}

void FutureObject::check_value(const Value& value) const {
  if (element_ && !element_->accepts(value)) {
    fail(ErrorKind::BadArgument, fmt::format("a Future({}) cannot be completed with {}",
                                             element_->text(), name_of(value.kind())));
  }
  if (!may_hold_others(value)) return;
  for (const Value& part : sub_values(value)) {
    OPYARD_CHECK(!part.is_future() || &part.to_future() != this, BadValue,
                 "a future cannot be completed with a value that holds it: neither would ever be "
                 "given back");
    if (!part.is_tensor() || !part.tensor_unchecked().defined()) continue;
    const Device device = part.tensor_unchecked().device();
    if (device.backend == Backend::CPU || device.backend == Backend::Meta) continue;
    fail(ErrorKind::BadValue,
         fmt::format(
             "the value has a tensor on {}, and this future allows none there; copy it to the "
             "cpu before completing the future",
             to_string(device)));
  }
}

bool FutureObject::claim() noexcept { return !claimed_.exchange(true, std::memory_order_acq_rel); }

// A sleeper that wakes may drop the last reference but this one.
void FutureObject::publish() {
  const CountedPtr<FutureObject> self = CountedPtr<FutureObject>::share(this);
  Node* newest = callbacks_.exchange(kClosed, std::memory_order_seq_cst);
  awake_.store(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) != 0) {
    futex(awake_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr);
  }
  if (newest == nullptr) return;
  Node* const last = newest;
  Node* oldest = nullptr;
  while (newest != nullptr) {
    newest->completed = self;
    Node* const older = std::exchange(newest->next, oldest);
    oldest = std::exchange(newest, older);
  }
  if (Run* const run = Run::current) {
    run->append(oldest, last);
    return;
  }
  Run run;
  run.append(oldest, last);
  run.work_off();
}

bool FutureObject::set_value_if_needed(Value value) {
  if (claimed_.load(std::memory_order_acquire)) return false;
  check_value(value);
  if (!claim()) return false;
  value_ = std::move(value);
  publish();
  return true;
}

bool FutureObject::set_error_if_needed(const Error& error) {
  if (claimed_.load(std::memory_order_acquire)) return false;
  Error own = copy_of(error);  // may find no memory, so it comes before the claim
  if (!claim()) return false;
  error_ = std::move(own);
  publish();
  return true;
}

bool FutureObject::set_error_if_needed(std::exception_ptr error) {
  OPYARD_CHECK(error != nullptr, BadArgument,
               "a null std::exception_ptr is no error to complete a future with");
  std::optional<Error> ours;
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    ours = known;
  } catch (...) {
    // It stays as it is.
  }
  if (ours) return set_error_if_needed(*ours);
  if (!claim()) return false;
  foreign_error_ = std::move(error);
  publish();
  return true;
}

void FutureObject::set_value(Value value) {
  if (!set_value_if_needed(std::move(value))) refuse_again();
}

void FutureObject::set_error(std::exception_ptr error) {
  if (!set_error_if_needed(std::move(error))) refuse_again();
}

void FutureObject::set_error(const Error& error) {
  if (!set_error_if_needed(error)) refuse_again();
}

bool FutureObject::cancel(CountedPtr<CarriedException> exception) {
  return set_error_if_needed(
      Error(ErrorKind::Cancelled, "the future was cancelled", std::move(exception)));
}

void FutureObject::add_callback(Callback callback) { add(std::move(callback), nullptr); }

void FutureObject::add(Callback callback, const FutureObject* completes) {
  OPYARD_CHECK(callback != nullptr, BadArgument, "an empty function is no callback of a future");
  auto node = std::unique_ptr<Node>(
      new Node{std::move(callback), ThreadContext::capture(), completes, nullptr, nullptr});
  Node* newest = callbacks_.load(std::memory_order_acquire);
  while (newest != kClosed) {
    node->next = newest;
    if (callbacks_.compare_exchange_weak(newest, node.get(), std::memory_order_acq_rel,
                                         std::memory_order_acquire)) {
      static_cast<void>(node.release());
      return;
    }
  }
  node->completed = CountedPtr<FutureObject>::share(this);
  node->next = nullptr;
  node->run();
}

CountedPtr<FutureObject> FutureObject::then(Continuation continuation,
                                            CountedPtr<const FutureElement> element) {
  OPYARD_CHECK(continuation != nullptr, BadArgument,
               "an empty function is no callback of a future");
  auto next = make_counted<FutureObject>(std::move(element), devices_);
  auto follow = [next, continuation = std::move(continuation)](FutureObject& completed) {
    if (next->completed()) return;  // it was cancelled
    const auto go_on = [&] { next->set_value_if_needed(continuation(completed)); };
    if (std::exception_ptr error = thrown_by(go_on)) next->set_error_if_needed(std::move(error));
  };
  add(std::move(follow), next.get());
  return next;
}

std::string FutureObject::text() const {
  if (!completed()) return "<future, pending>";
  if (cancelled()) return "<future, cancelled>";
  return failed() ? "<future, failed>" : "<future, completed>";
}

}  // namespace opyard
