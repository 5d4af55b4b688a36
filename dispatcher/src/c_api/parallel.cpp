// c_api/parallel.cpp: the C API of loops and tasks on the pool.
#include <fmt/format.h>

#include <memory>

#include "base/thread_error.h"
#include "base/versioned_struct.h"
#include "c_api/pointers.h"
#include "c_api/stack.h"
#include "opyard/parallel.h"

namespace opyard::c_api {
namespace {

// Calls a function of a C program, and raises what it says by its status and this thread's error.
// What was the thread's error before is set aside meanwhile.
template <typename Body>
void run_body(const char* what, Body&& body) {
  const detail::EarlierError earlier;
  int status = OPYARD_OK;
  const Status thrown = guarded([&] { status = body(); });
  if (thrown != Status::Ok) status = int(thrown);
  const std::optional<Error> error = take_error();
  if (status == OPYARD_OK) return;
  if (error) throw *error;
  const bool known = status > OPYARD_OK && status < OPYARD_STATUS_COUNT;
  fail(known ? ErrorKind(status - 1) : ErrorKind::BadReturn,
       fmt::format("{} in C failed with status {} and left no text", what, status));
}

// The function of a task with its context.
class TaskInC {
 public:
  explicit TaskInC(const opyard_task& task) noexcept : task_(task) {}
  TaskInC(const TaskInC&) = delete;
  TaskInC& operator=(const TaskInC&) = delete;
  ~TaskInC() {
    if (task_.destroy != nullptr) task_.destroy(task_.context);
  }

  Value run() const {
    OwnedStack results;
    run_body("a task", [&] { return task_.function(task_.context, &results); });
    if (results.size() == 0) return {};
    if (results.size() > 1) {
      fail(ErrorKind::BadReturn,
           fmt::format("a task in C left {} values on its stack; it leaves one, or none for None",
                       results.size()));
    }
    return results.values.pop();
  }

 private:
  const opyard_task task_;
};

}  // namespace
}  // namespace opyard::c_api

using namespace opyard;         // NOLINT
using namespace opyard::c_api;  // NOLINT

extern "C" {

int opyard_thread_count(int* count) {
  return border([&] { *require(count, "the place of the count") = thread_count(); });
}

int opyard_set_thread_count(int count) {
  return border([&] { set_thread_count(count); });
}

int opyard_parallel_for(int64_t begin, int64_t end, int64_t grain, opyard_range_function function,
                        void* context) {
  return border([&] {
    require(reinterpret_cast<void*>(function), "the body of a loop");
    parallel_for(begin, end, grain, [&](std::int64_t first, std::int64_t last) {
      run_body("the body of a loop", [&] { return function(context, first, last); });
    });
  });
}

int opyard_start_task(const opyard_task* task, opyard_stack* stack) {
  return border([&] {
    const opyard_task known = read_sized(task, "opyard_task");
    std::shared_ptr<const TaskInC> own;
    try {
      own = std::make_shared<const TaskInC>(known);
    } catch (...) {
      if (known.destroy != nullptr) known.destroy(known.context);
      throw;
    }
    require(reinterpret_cast<void*>(known.function), "the function of a task");
    Stack& values = require(stack, "a stack")->values;
    values.push(Value());  // finds the memory before anything runs
    try {
      values.peek() = Value(start_task([own] { return own->run(); }, nullptr));
    } catch (...) {
      values.drop(1);
      throw;
    }
  });
}

int opyard_wait(opyard_value future, opyard_stack* stack) {
  return border([&] {
    const BorrowedValue given(future);
    require(stack, "a stack")->values.push(Future<Value>(*given).object()->wait());
  });
}

}  // extern "C"
