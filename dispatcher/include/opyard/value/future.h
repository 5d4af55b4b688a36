// opyard/value/future.h: a typed future: the C++ type of Future(T) in
// kernels.
//
//   Future<std::int64_t> length;
//   std::thread([length] { length.set_value(42); }).detach();
//   const Future<double> half = length.then([](const Future<std::int64_t>& n) { return n.value() / 2.; });
//   half.wait();      21.0
//
// A Future is a counted pointer: its copies, and the values made from it, are the same future; see
// value/future_object.h for how it is completed, and on which thread callbacks run. The future
// behind it may have come from anywhere, so the value is checked when it is read: BadArgument
// ("expected Int but got Double"). Future<Value> is a Future(Any).
//
// Depends on: value/cast.h, value/future_object.h.
#pragma once

#include <type_traits>
#include <utility>

#include "opyard/detail/value/future_object.h"
#include "opyard/value/cast.h"

namespace opyard {

template <typename T>
class Future {
 public:
  using Duration = FutureObject::Duration;

  // A new one, pending.
  Future() : future_(make_counted<FutureObject>()) {}
  // The future in a value, shared. Raises BadArgument if it is none.
  explicit Future(const Value& value) : future_(ValueCast<CountedPtr<FutureObject>>::from(value)) {}
  // The pointer is not null.
  explicit Future(CountedPtr<FutureObject> future) noexcept : future_(std::move(future)) {}

  bool completed() const noexcept { return future_->completed(); }
  bool has_value() const noexcept { return future_->has_value(); }
  bool has_error() const noexcept { return future_->has_error(); }
  bool cancelled() const noexcept { return future_->cancelled(); }

  // Waits; gives the value or throws the error. With a timeout, raises TimedOut.
  T wait() const { return ValueCast<T>::from(future_->wait()); }
  T wait(Duration timeout) const { return ValueCast<T>::from(future_->wait(timeout)); }
  // The value, or throws the error. Raises BadFuture if it is not completed.
  T value() const { return ValueCast<T>::from(future_->value()); }

  // Raise BadFuture if it is completed.
  void set_value(T value) const { future_->set_value(ValueCast<T>::to(std::move(value))); }
  void set_error(const Error& error) const { future_->set_error(error); }
  void set_error(std::exception_ptr error) const { future_->set_error(std::move(error)); }
  // Whether it was not completed before.
  bool cancel() const { return future_->cancel(); }

  // A callback takes a const Future<T>&.
  template <typename F>
  void add_callback(F callback) const {
    future_->add_callback([callback = std::move(callback)](FutureObject& completed) mutable {
      callback(Future(CountedPtr<FutureObject>::share(&completed)));
    });
  }
  // A Future of what the callback gives; a Future<Value> of None if it gives nothing.
  template <typename F>
  auto then(F callback) const {
    using R = std::invoke_result_t<F&, const Future&>;
    const auto boxed = [callback = std::move(callback)](FutureObject& completed) mutable {
      const Future argument(CountedPtr<FutureObject>::share(&completed));
      if constexpr (std::is_void_v<R>) {
        callback(argument);
        return Value();
      } else {
        return ValueCast<std::remove_cvref_t<R>>::to(callback(argument));
      }
    };
    using Result = std::conditional_t<std::is_void_v<R>, Value, std::remove_cvref_t<R>>;
    return Future<Result>(future_->then(boxed));
  }

  // What it leads to, never null.
  const CountedPtr<FutureObject>& object() const noexcept { return future_; }
  operator Value() const { return Value(future_); }  // NOLINT
  bool identical(const Future& other) const noexcept { return future_ == other.future_; }

 private:
  CountedPtr<FutureObject> future_;
};

template <typename T>
struct ValueCast<Future<T>> {
  static Future<T> from(const Value& value) { return Future<T>(value); }
  static Value to(const Future<T>& future) { return future; }
};

}  // namespace opyard
