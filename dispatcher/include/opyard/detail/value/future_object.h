// opyard/detail/value/future_object.h: a value that is not there yet, shared by those who wait for it and the
// one who completes it.
//
//   pending ──set_value()──> has a value
//      ├──── set_error() ──> has an error
//      └──── cancel() ─────> has an error of kind Cancelled
//
// It is completed once. A callback that was added before runs on the completing thread, in the
// order in which they were added; one that is added later runs at once, on the adder's thread. No
// lock is held then, and the thread has the keys, gradient mode and modes of the callback's adder.
// Callbacks are released once they have run; a pending future that is held by its own callback
// lives for ever.
//
// A callback that completes further futures does not run their callbacks itself: they are put
// behind those that its thread is running, so that a chain of any length costs no stack. Where it
// waits, they run first.
//
// Who needs what: a kernel that takes or returns a Future(T) uses Future of value/future.h;
// this is what it leads to. value/future_collect.h waits for several at once.
//
// Any function may be called on any thread, except in the child of a fork on a future that another
// thread of the parent was just completing: that one stays pending.
//
// Depends on: value/value.h.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "opyard/detail/interpreter/object_link.h"
#include "opyard/value/value.h"

namespace opyard {

// What the value of a future must be. Types live above values: schema/future_type.h makes one of a
// type.
class OPYARD_API FutureElement : public Counted {
 public:
  virtual bool accepts(const Value& value) const = 0;
  // "int", as in Future(int).
  virtual std::string text() const = 0;
};

class OPYARD_API FutureObject final : public Counted {
 public:
  using Callback = std::function<void(FutureObject& completed)>;
  using Continuation = std::function<Value(FutureObject& completed)>;
  using Duration = std::chrono::nanoseconds;

  // Without an element, any value will do. `devices` are those on which the value may have tensors,
  // besides the cpu and meta. Raises BadValue for a device without an index, Unsupported for one
  // that would have to record an event at completion, which no backend of this version can.
  explicit FutureObject(CountedPtr<const FutureElement> element = {},
                        std::vector<Device> devices = {});
  ~FutureObject() override;

  bool completed() const noexcept { return callbacks_.load(std::memory_order_acquire) == kClosed; }
  bool has_value() const noexcept { return completed() && !failed(); }
  bool has_error() const noexcept { return completed() && failed(); }
  // Also the sign for a producer that it may stop.
  bool cancelled() const noexcept;

  // Waits until it is completed. Gives the value, or throws the error that it was completed with.
  // Raises BadFuture if the thread waits inside the callback that completes this future.
  const Value& wait();
  // The same; raises TimedOut.
  const Value& wait(Duration timeout);
  // The same without a look at what came: whether it is completed.
  bool wait_until_completed(std::optional<Duration> timeout);
  // The value, or throws the error. Raises BadFuture if it is not completed.
  const Value& value() const;

  // What it failed with, as an exception and as text; null and nothing if it did not. Asking
  // counts as seeing the error: one that no one saw is warned of when the future dies.
  std::exception_ptr exception_ptr() const;
  std::optional<std::string> error_message() const;
  // The error, if it is an Error.
  std::optional<Error> error() const;
  // The same for the garbage collector: borrowed, null if there is none, and not counted as seen.
  const Error* find_error() const noexcept { return completed() && error_ ? &*error_ : nullptr; }

  // Completes it. Raises BadFuture if it is completed, BadArgument for a value that is none of
  // its element type, BadValue for one that holds this future, or a tensor on a device that is not
  // allowed; then nothing has happened. Callbacks have run when it returns, except inside a
  // callback.
  void set_value(Value value = {});
  void set_error(std::exception_ptr error);
  void set_error(const Error& error);
  // The same, but only if it is not completed: whether it was not.
  bool set_value_if_needed(Value value = {});
  bool set_error_if_needed(std::exception_ptr error);
  bool set_error_if_needed(const Error& error);
  // Completes it with an error of kind Cancelled, or with one that carries an exception of another
  // language. Its producer hears of it by cancelled(), or by a callback.
  bool cancel(CountedPtr<CarriedException> exception = {});

  // What the callback throws is reported as a warning.
  void add_callback(Callback callback);
  // A new future that is completed with what the callback gives or throws. It is called for a
  // future with an error, too, and may look at it. Where the new future is cancelled before, it is
  // not called.
  CountedPtr<FutureObject> then(Continuation continuation,
                                CountedPtr<const FutureElement> element = {});

  const FutureElement* element() const noexcept { return element_.get(); }
  const std::vector<Device>& devices() const noexcept { return devices_; }
  // "<future, pending>", "completed", "failed" or "cancelled".
  std::string text() const;

  ObjectLink& object_link() const noexcept { return object_link_; }

 private:
  struct Node;
  struct Run;
  struct Death;
  static inline Node* const kClosed = reinterpret_cast<Node*>(std::uintptr_t{1});

  bool failed() const noexcept { return error_ || foreign_error_ != nullptr; }
  void check_value(const Value& value) const;
  bool claim() noexcept;
  void publish();
  void add(Callback callback, const FutureObject* completes);
  bool block(std::optional<Duration> timeout);
  [[noreturn]] void refuse_again() const;
  [[noreturn]] void throw_error() const;

  const CountedPtr<const FutureElement> element_;
  const std::vector<Device> devices_;
  // Whether someone is completing it, or has. The thread that sets this alone writes the result.
  std::atomic<bool> claimed_{false};
  // The newest callback; kClosed once it is completed, and with it the result is published.
  std::atomic<Node*> callbacks_{nullptr};
  // For the sleepers: 0 until it is completed, and how many there are.
  std::atomic<std::uint32_t> awake_{0};
  std::atomic<std::uint32_t> sleepers_{0};
  // The result: one of them, written before callbacks_ is closed and constant from then on.
  Value value_;
  std::optional<Error> error_;
  std::exception_ptr foreign_error_;  // an exception that is no Error
  mutable std::atomic<bool> seen_{false};
  mutable ObjectLink object_link_;
};

}  // namespace opyard
