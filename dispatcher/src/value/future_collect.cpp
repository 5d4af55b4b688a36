// value/future_collect.cpp: waiting for all, or for any, of several futures.
#include "opyard/value/future_collect.h"

#include <atomic>

namespace opyard {
namespace {

// What the callbacks of collect_all() share. A pending future is not held here: its callback holds
// this, and they would keep each other alive.
struct All final : Counted {
  explicit All(std::size_t count) : left(count), completed(count) {}
  const CountedPtr<FutureObject> result = make_counted<FutureObject>();
  std::atomic<std::size_t> left;
  std::vector<Value> completed;  // each written by the one callback that it belongs to

  void note(std::size_t position, FutureObject& future) {
    if (std::optional<Error> error = error_of(future)) {
      result->set_error_if_needed(*error);
    } else if (future.has_error()) {
      result->set_error_if_needed(future.exception_ptr());
    }
    if (result->completed()) return;
    completed[position] = Value(CountedPtr<FutureObject>::share(&future));
    if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      result->set_value_if_needed(Value::list(std::move(completed)));
    }
  }

 private:
  // Asked only if it failed, since asking counts as having seen the error.
  static std::optional<Error> error_of(const FutureObject& future) {
    return future.has_error() ? future.error() : std::nullopt;
  }
};

void pass_on(const FutureObject& from, FutureObject& to) {
  if (to.completed()) return;
  if (from.has_value()) {
    to.set_value_if_needed(from.value());
  } else {
    to.set_error_if_needed(from.exception_ptr());
  }
}

void require_each(const std::vector<CountedPtr<FutureObject>>& futures) {
  for (const CountedPtr<FutureObject>& future : futures) {
    OPYARD_CHECK(future, BadArgument, "a null pointer is no future to wait for");
  }
}

}  // namespace

CountedPtr<FutureObject> collect_all(const std::vector<CountedPtr<FutureObject>>& futures) {
  require_each(futures);
  const auto all = make_counted<All>(futures.size());
  if (futures.empty()) all->result->set_value(Value::list({}));
  for (std::size_t i = 0; i < futures.size(); ++i) {
    futures[i]->add_callback([all, i](FutureObject& future) { all->note(i, future); });
  }
  return all->result;
}

CountedPtr<FutureObject> collect_any(const std::vector<CountedPtr<FutureObject>>& futures) {
  require_each(futures);
  const auto first = make_counted<FutureObject>();
  if (futures.empty()) first->set_value();
  for (const CountedPtr<FutureObject>& future : futures) {
    future->add_callback([first](FutureObject& completed) { pass_on(completed, *first); });
  }
  return first;
}

}  // namespace opyard
