// opyard/value/task.h: tasks: start_task() runs a function on the pool, and gives a future.
//
//   const auto rows = start_task([] { return count_rows(); });    a Future<std::int64_t>
//   rows.wait();
//
// The function runs with the keys, modes and gradient mode of the thread that started it. What it
// throws completes the future. It runs whether or not anyone waits, and the future keeps nothing
// alive that it runs with: what the function holds is dropped before the future is completed.
//
// A thread that waits without a timeout for a task that none has begun runs it then and there, so
// that tasks may wait for tasks whatever the size of the pool. See pool/pool.h for the threads.
//
// Depends on: value/future.h, pool/pool.h.
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "opyard/pool/pool.h"
#include "opyard/value/future.h"

namespace opyard {

// Raises BadValue if OPYARD_NUM_THREADS is no number, OutOfMemory.
OPYARD_API CountedPtr<FutureObject> start_task(std::function<Value()> function,
                                               CountedPtr<const FutureElement> element);

// A Future of what the function gives; a Future<Value> of None if it gives nothing.
template <typename F>
auto start_task(F function) {
  using R = std::invoke_result_t<F&>;
  using Result = std::conditional_t<std::is_void_v<R>, Value, std::remove_cvref_t<R>>;
  // Shared, since a std::function copies what it holds.
  const auto own = std::make_shared<F>(std::move(function));
  return Future<Result>(start_task(
      [own]() -> Value {
        if constexpr (std::is_void_v<R>) {
          (*own)();
          return {};
        } else {
          return ValueCast<std::remove_cvref_t<R>>::to((*own)());
        }
      },
      CountedPtr<const FutureElement>()));
}

}  // namespace opyard
