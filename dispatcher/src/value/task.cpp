// value/task.cpp: tasks: functions on threads of the pool.
#include "opyard/value/task.h"

#include <cxxabi.h>

#include <optional>

#include "opyard/thread/thread_context.h"
#include "pool/queue.h"

namespace opyard {
namespace {

class Task final : public detail::Job {
 public:
  Task(CountedPtr<FutureObject> future, std::function<Value()> function)
      : Job(future.get()),
        future_(std::move(future)),
        function_(std::move(function)),
        context_(ThreadContext::capture()) {}

  void run() override {
    // If the thread is ended by force, no one else completes the future.
    const struct Leave {
      FutureObject& future;
      ~Leave() {
        if (future.completed()) return;
        try {
          future.set_error_if_needed(
              Error(ErrorKind::InterpreterGone, "the interpreter that the task ran in has ended"));
        } catch (const std::exception&) {
          // There is no memory for the error, and the thread is on its way out.
        }
      }
    } leave{*future_};
    complete();
  }

 private:
  OPYARD_CATCHES_FORCED_UNWIND void complete() {
    std::exception_ptr error;
    try {
      Value value = call();
      future_->set_value_if_needed(std::move(value));
    } catch (abi::__forced_unwind&) {
      throw;
    } catch (...) {
      error = std::current_exception();
    }
    if (error != nullptr) future_->set_error_if_needed(std::move(error));
  }

  // What the function holds is gone behind it.
  Value call() {
    const ThreadContext context = std::move(*context_);
    context_.reset();
    const ThreadContextScope scope(context);
    const std::function<Value()> function = std::exchange(function_, nullptr);
    if (future_->completed()) return {};  // it was cancelled
    return function();
  }

  const CountedPtr<FutureObject> future_;
  std::function<Value()> function_;
  std::optional<ThreadContext> context_;
};

}  // namespace

CountedPtr<FutureObject> start_task(std::function<Value()> function,
                                    CountedPtr<const FutureElement> element) {
  OPYARD_CHECK(function != nullptr, BadArgument, "an empty function is no task");
  auto future = make_counted<FutureObject>(std::move(element));
  detail::queue_job(make_counted<Task>(future, std::move(function)));
  return future;
}

}  // namespace opyard
