// test/python/plugins/plugin.cpp: operators that the Python tests need C++ for.
//
// Calls of other operators from C++, on this thread and on native ones, and errors of every
// kind. An operator to call is given by name; it takes and gives one tensor. A caller from
// Python holds the GIL, so nothing here waits for a native thread.
#include <pthread.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "opyard/base/warning.h"
#include "opyard/interpreter/error_class.h"
#include "opyard/interpreter/gil.h"
#include "opyard/library.h"
#include "opyard/tensor/accessor.h"
#include "opyard/value/future.h"
#include "opyard/value/list.h"

namespace {

using opyard::Operator;
using opyard::Stack;
using opyard::Tensor;

// Runs it on a native thread that no one waits for. The thread is born detached: glibc 2.36 reads
// the memory of one that ends while it is being detached.
void in_background(std::function<void()> work) {
  auto* const kept = new std::function<void()>(std::move(work));
  const auto run = [](void* argument) -> void* {
    const std::unique_ptr<std::function<void()>> owned(
        static_cast<std::function<void()>*>(argument));
    (*owned)();
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (pthread_create(&thread, &attributes, run, kept) != 0) {
    delete kept;
    opyard::fail(opyard::ErrorKind::Internal, "no thread could be made");
  }
  pthread_attr_destroy(&attributes);
}

Tensor call(const std::string& op, const Tensor& x) {
  Stack stack;
  stack.push(x);
  opyard::require_operator(op).call_boxed(stack);
  return stack.pop().take_tensor();
}

Tensor call_typed(const std::string& op, const Tensor& x) {
  return opyard::require_operator(op).typed<Tensor(const Tensor&)>().call(x);
}

// In a catch block of C++ between the two.
Tensor call_and_rethrow(const std::string& op, const Tensor& x) {
  try {
    return call(op, x);
  } catch (const opyard::Error& error) {
    const opyard::Error copy = error;
    throw copy;
  }
}

// What a C++ caller sees of a failure.
std::string call_and_describe(const std::string& op, const Tensor& x) {
  try {
    call(op, x);
  } catch (const opyard::Error& error) {
    return std::string(opyard::name_of(error.kind())) + ": " + error.what();
  }
  return "";
}

// Waits for a worker thread that calls an operator. A thread that holds the GIL meanwhile waits for
// ever if that is one in Python.
Tensor wait_for_worker(const Tensor& x, const std::string& op) {
  Tensor result;
  std::optional<opyard::Error> error;
  std::thread worker([&] {
    try {
      result = call(op, x);
    } catch (const opyard::Error& raised) {
      error = raised;
    }
  });
  worker.join();
  if (error) throw *error;
  return result;
}

Tensor wait_inside(const Tensor& x, const std::string& op) {
  return opyard::without_gil([&] { return wait_for_worker(x, op); });
}

// What a worker thread learns of the memory of an argument.
bool is_read_only_to_worker(const Tensor& x) {
  bool read_only = false;
  std::optional<opyard::Error> error;
  std::thread worker([&] {
    try {
      read_only = x.impl()->storage()->read_only();
    } catch (const opyard::Error& raised) {
      error = raised;
    }
  });
  worker.join();
  if (error) throw *error;
  return read_only;
}
bool any_read_only_to_worker(const std::vector<Tensor>& list) {
  bool any = false;
  for (const Tensor& each : list) any |= is_read_only_to_worker(each);
  return any;
}

Tensor call_without_gil(const Tensor& x, const std::string& op) {
  return opyard::without_gil([&] { return call(op, x); });
}

// What background threads did.
std::atomic<std::int64_t> calls_in_background{0};
std::atomic<std::int64_t> failures_in_background{0};

// Calls `op` on native threads without end, or until it fails.
void call_in_background(const std::string& op, const Tensor& x, std::int64_t threads) {
  for (std::int64_t i = 0; i < threads; ++i) {
    in_background([op, x] {
      try {
        for (;;) {
          call(op, x);
          ++calls_in_background;
        }
      } catch (const opyard::Error&) {
        ++failures_in_background;
      }
    });
  }
}

// Calls `op` once on a native thread, and forgets what comes of it.
void call_once_in_background(const std::string& op, const Tensor& x) {
  in_background([op, x] {
    try {
      call(op, x);
      ++calls_in_background;
    } catch (const opyard::Error&) {
      ++failures_in_background;
    }
  });
}

std::vector<std::int64_t> count_in_background() {
  return {calls_in_background, failures_in_background};
}

Tensor kept;

void keep(const Tensor& x) { kept = x; }
Tensor give_kept() { return kept; }
void keep_view(const Tensor& x) { kept = x.alias(); }
void keep_and_fail(const Tensor& x) {
  kept = x;
  opyard::fail(opyard::ErrorKind::BadValue, "kept it, and failed");
}
void ignore(const Tensor&) {}
void drop_kept() { kept = Tensor(); }
Tensor view(const Tensor& x) { return x.alias(); }
std::vector<Tensor> list_of(const Tensor& x) { return {x, x.alias()}; }
double first_of_all(const std::vector<Tensor>& x, const Tensor& y) {
  double sum = opyard::accessor<const double, 1>(y)[0];
  for (const Tensor& each : x) sum += each.data<double>()[0];
  return sum;
}
bool is_read_only(const Tensor& x) { return x.impl()->storage()->read_only(); }
// Although the schema does not say so.
void write_to(const Tensor& x) { *static_cast<char*>(x.mutable_raw()) = 1; }

void fail_with(std::int64_t kind, const std::string& message) {
  opyard::fail(opyard::ErrorKind(kind), message);
}

std::string kind_name(std::int64_t kind) { return opyard::name_of(opyard::ErrorKind(kind)); }

void throw_foreign(const std::string& what) {
  if (what == "std::exception") throw std::out_of_range("a text of the C++ library");
  throw 42;
}

Tensor same(const Tensor& x) { return x; }

// Asks for what there is not, by functions that know of no operator.
Tensor ask(const Tensor& x, const std::string& what) {
  if (what == "sizes") return opyard::zeros(std::array<std::int64_t, 2>{2, -1});
  if (what == "dimension") return x.size(7) == 0 ? Tensor() : x;
  if (what == "accessor") return opyard::accessor<const float, 1>(x)(0) == 0 ? Tensor() : x;
  using Unary = Tensor(const Tensor&);
  return opyard::require_operator(what).typed<Unary>().call(x);
}

// Results that are not made.
Tensor forget(const Tensor&) { return Tensor(); }
std::tuple<Tensor, Tensor> forget_second(const Tensor& x) { return {x, Tensor()}; }
std::vector<Tensor> forget_item(const Tensor& x, const std::vector<bool>&) { return {x, Tensor()}; }
std::vector<Tensor> forget_an_item(const Tensor& x) { return {x, Tensor()}; }
std::tuple<Tensor, Tensor> leave_second(const Tensor& x, bool /*both*/) { return {x, Tensor()}; }
std::tuple<Tensor, std::optional<Tensor>> give_one(const Tensor& x) { return {x, std::nullopt}; }

// A list that contains itself, and a dict that contains that list; broken up by break_loops().
opyard::List<opyard::Value> loop;

opyard::Value loop_list() {
  if (loop.empty()) loop.push_back(loop.value());
  return loop.value();
}
opyard::Value loop_dict() { return opyard::Value::dict({{"loop", loop_list()}}); }
void break_loops() { loop.clear(); }

// Puts a value of a kind that has no object in Python on the stack.
void give_storage(const Operator&, opyard::DispatchKeySet, Stack& stack) {
  stack.push(opyard::Storage::allocate(4, {}));
}

int capsules_released = 0;
int capsule_content = 42;

void make_capsule(const Operator&, opyard::DispatchKeySet, Stack& stack) {
  const auto count = [](void*) { ++capsules_released; };
  stack.push(opyard::CapsuleObject::adopt(&capsule_content, "test.int", nullptr, count));
}
void read_capsule(const Operator&, opyard::DispatchKeySet, Stack& stack) {
  const opyard::Value capsule = stack.pop();
  stack.push(*static_cast<int*>(capsule.to_capsule().pointer));
}
void same_capsule(const Operator&, opyard::DispatchKeySet, Stack&) {}
opyard::Value kept_value;
void keep_value(const opyard::Value& value) { kept_value = value; }
std::int64_t count_released() { return capsules_released; }

// Futures that native threads complete, some milliseconds later.
using opyard::Future;

void sleep_for(std::int64_t milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}
Future<std::int64_t> later(std::int64_t milliseconds, std::int64_t result) {
  const Future<std::int64_t> future;
  in_background([=] {
    sleep_for(milliseconds);
    future.object()->set_value_if_needed(result);
  });
  return future;
}
void complete_later(const Future<opyard::Value>& future, std::int64_t milliseconds,
                    const opyard::Value& result) {
  in_background([=] {
    sleep_for(milliseconds);
    future.object()->set_value_if_needed(result);
  });
}
Future<std::int64_t> fail_later(std::int64_t milliseconds, const std::string& message) {
  const Future<std::int64_t> future;
  in_background([=] {
    sleep_for(milliseconds);
    future.object()->set_error_if_needed(opyard::Error(opyard::ErrorKind::BadShape, message));
  });
  return future;
}
Future<std::int64_t> same_future(const Future<std::int64_t>& future) { return future; }
Future<std::int64_t> twice_of(const Future<std::int64_t>& future) {
  return future.then([](const Future<std::int64_t>& n) { return n.value() * 2; });
}
bool cancel_future(const Future<opyard::Value>& future) { return future.cancel(); }
std::string error_of_future(const Future<opyard::Value>& future) {
  return future.object()->error_message().value_or("");
}
// Fails on a native thread, whose error no one sees.
void fail_unseen() {
  std::thread([] {
    const Future<std::int64_t> future;
    future.set_error(opyard::Error(opyard::ErrorKind::BadShape, "unseen"));
  }).join();
}

// Warnings, by the number of their kind.
void warn(std::int64_t kind, const std::string& message) {
  opyard::warn(opyard::WarningKind(kind), message);
}
void warn_here(const std::string& message) { OPYARD_WARN(User, message); }
void warn_once(const std::string& message) { OPYARD_WARN_ONCE(Future, message); }
void warn_and_fail(const std::string& message, const std::string& error) {
  opyard::warn(message);
  opyard::fail(opyard::ErrorKind::BadShape, error);
}
// Goes on after the warning, whatever is made of it.
std::int64_t warnings_survived = 0;
std::int64_t warn_and_count(const std::string& message) {
  opyard::warn(message);
  return ++warnings_survived;
}
Tensor warn_and_call(const std::string& message, const std::string& op, const Tensor& x) {
  opyard::warn(message);
  return call(op, x);
}
void warn_in_background(const std::string& message) {
  in_background([message] {
    try {
      opyard::warn(message);
      ++calls_in_background;
    } catch (const opyard::Error&) {
      ++failures_in_background;
    }
  });
}

// Errors that are named, that get context, and that come from another thread.
void fail_as(const std::string& name, const std::string& message) {
  opyard::fail_as(name, message);
}
std::string class_of_failure(const std::string& op, const Tensor& x) {
  try {
    call(op, x);
  } catch (const opyard::Error& error) {
    return std::string(opyard::class_name_of(error));
  }
  return "none";
}
// The kind that C++ sees, and the one that the failure had where it began.
std::string kinds_of_failure(const std::string& op, const Tensor& x) {
  try {
    call(op, x);
  } catch (const opyard::Error& error) {
    return std::string(opyard::name_of(error.kind())) + " " +
           opyard::name_of(opyard::original_kind(error));
  }
  return "none";
}
Tensor call_with_context(const std::string& op, const Tensor& x, const std::string& line) {
  try {
    return call(op, x);
  } catch (const opyard::Error& error) {
    throw error.with_context(line);
  }
}
Future<Tensor> call_later(const std::string& op, const Tensor& x) {
  const Future<Tensor> future;
  in_background([=] {
    try {
      future.object()->set_value_if_needed(call(op, x));
    } catch (const opyard::Error& error) {
      future.object()->set_error_if_needed(error);
    }
  });
  return future;
}
// Asks for what a exporter has to be asked, while the call may be on its way still, and then after
// it.
void read_in_background(const Tensor& x) {
  in_background([x] {
    for (int i = 0; i < 3; ++i) {
      try {
        ++(is_read_only(x) ? failures_in_background : calls_in_background);
      } catch (const opyard::Error&) {
        ++failures_in_background;
      }
      sleep_for(10);
    }
  });
}
// The same on a thread that the caller waits for, with the GIL held. Gives "" or the error.
std::string ask_on_a_thread(const Tensor& x) {
  std::string text;
  std::thread([&] {
    try {
      static_cast<void>(is_read_only(x));
    } catch (const opyard::Error& error) {
      text = error.what();
    }
  }).join();
  return text;
}
// Drops a tensor where Python has never seen the thread.
void drop_in_background(const Tensor& x) {
  in_background([tensor = x]() mutable {
    sleep_for(20);  // until its caller has let go of it
    tensor = {};
    ++calls_in_background;
  });
}

}  // namespace

OPYARD_LIBRARY(test_plugin, m) {
  m.def("warn(int kind, str message) -> ()", &warn);
  m.def("warn_here(str message) -> ()", &warn_here);
  m.def("warn_once(str message) -> ()", &warn_once);
  m.def("warn_and_fail(str message, str error) -> ()", &warn_and_fail);
  m.def("warn_and_count(str message) -> int", &warn_and_count);
  m.def("warn_and_call(str message, str op, Tensor x) -> Tensor", &warn_and_call);
  m.def("warn_in_background(str message) -> ()", &warn_in_background);
  m.def("fail_as(str name, str message) -> ()", &fail_as);
  m.def("class_of_failure(str op, Tensor x) -> str", &class_of_failure);
  m.def("kinds_of_failure(str op, Tensor x) -> str", &kinds_of_failure);
  m.def("call_with_context(str op, Tensor x, str line) -> Tensor", &call_with_context);
  m.def("call_later(str op, Tensor x) -> Future(Tensor)", &call_later);
  m.def("drop_in_background(Tensor x) -> ()", &drop_in_background);
  m.def("call(str op, Tensor x) -> Tensor", &call);
  m.def("call_typed(str op, Tensor x) -> Tensor", &call_typed);
  m.def("call_and_rethrow(str op, Tensor x) -> Tensor", &call_and_rethrow);
  m.def("call_and_describe(str op, Tensor x) -> str", &call_and_describe);
  m.def("call_in_background(str op, Tensor x, int threads) -> ()", &call_in_background);
  m.def("call_once_in_background(str op, Tensor x) -> ()", &call_once_in_background);
  m.def("count_in_background() -> int[]", &count_in_background);
  m.def("keep(Tensor x) -> ()", &keep);
  m.def("kept() -> Tensor", &give_kept);
  m.def("keep_view(Tensor x) -> ()", &keep_view);
  m.def("keep_and_fail(Tensor x) -> ()", &keep_and_fail);
  m.def("ignore(Tensor x) -> ()", &ignore);
  m.def("drop_kept() -> ()", &drop_kept);
  m.def("view(Tensor(a) x) -> Tensor(a)", &view);
  const auto cpu = opyard::DispatchKey::CPU;
  m.def("wait_for_worker(Tensor x, str op) -> Tensor");
  m.impl("wait_for_worker", cpu, opyard::releases_gil(&wait_for_worker));
  m.def("wait_inside(Tensor x, str op) -> Tensor", &wait_inside);
  m.def("call_without_gil(Tensor x, str op) -> Tensor", &call_without_gil);
  m.def("call_released(Tensor x, str op) -> Tensor");
  m.impl("call_released", cpu,
         opyard::releases_gil([](const Tensor& x, const std::string& op) { return call(op, x); }));
  m.def("same_released(Tensor x) -> Tensor");
  m.impl("same_released", cpu, opyard::releases_gil([](const Tensor& x) { return x; }));
  m.def("drop_released() -> ()");
  m.impl("drop_released", opyard::DispatchKey::CompositeImplicitAutograd,
         opyard::releases_gil(&drop_kept));
  m.def("is_read_only_to_worker(Tensor x) -> bool");
  m.impl("is_read_only_to_worker", cpu, opyard::releases_gil(&is_read_only_to_worker));
  m.def("any_read_only_to_worker(Tensor[] x) -> bool");
  m.impl("any_read_only_to_worker", cpu, opyard::releases_gil(&any_read_only_to_worker));
  m.def("list_of(Tensor(a) x) -> Tensor(a)[]", &list_of);
  m.def("first_of_all(Tensor[] x, Tensor y) -> float", &first_of_all);
  m.def("is_read_only(Tensor x) -> bool", &is_read_only);
  m.def("write(Tensor x) -> ()", &write_to);
  m.def("read_in_background(Tensor x) -> ()", &read_in_background);
  m.def("ask_on_a_thread(Tensor x) -> str", &ask_on_a_thread);
  m.def("fail_with(int kind, str message) -> ()", &fail_with);
  m.def("kind_name(int kind) -> str", &kind_name);
  m.def("throw_foreign(str what) -> ()", &throw_foreign);
  m.def("same(Tensor x) -> Tensor");
  m.impl("same", opyard::DispatchKey::CPU, &same);
  m.def("forget(Tensor x) -> Tensor", &forget);
  m.def("forget_second(Tensor x) -> (Tensor, Tensor)", &forget_second);
  m.def("forget_an_item(Tensor x) -> Tensor[]", &forget_an_item);
  m.def("leave_item(Tensor x, bool[] wanted) -> Tensor[]", &forget_item);
  m.def("ask(Tensor x, str what) -> Tensor", &ask);
  m.def("leave_second(Tensor x, bool both) -> (Tensor, Tensor)", &leave_second);
  m.def("give_one(Tensor x) -> (Tensor, Tensor?)", &give_one);
  m.def("unchanged(Tensor x) -> Tensor");
  m.impl("unchanged", opyard::DispatchKey::CPU, &same);
  m.def("loop_list() -> Any", &loop_list);
  m.def("loop_dict() -> Any", &loop_dict);
  m.def("break_loops() -> ()", &break_loops);
  m.def("give_storage() -> Storage", &give_storage);
  m.def("take_storage(Storage x) -> ()", &same_capsule);
  m.def("make_capsule() -> Capsule", &make_capsule);
  m.def("read_capsule(Capsule x) -> int", &read_capsule);
  m.def("same_capsule(Capsule x) -> Capsule", &same_capsule);
  m.def("keep_value(Any x) -> ()", &keep_value);
  m.def("count_released() -> int", &count_released);
  m.def("later(int milliseconds, int result) -> Future(int)", &later);
  m.def("complete_later(Future(Any) future, int milliseconds, Any result) -> ()", &complete_later);
  m.def("fail_later(int milliseconds, str message) -> Future(int)", &fail_later);
  m.def("same_future(Future(int) future) -> Future(int)", &same_future);
  m.def("twice_of(Future(int) future) -> Future(int)", &twice_of);
  m.def("cancel_future(Future(Any) future) -> bool", &cancel_future);
  m.def("error_of_future(Future(Any) future) -> str", &error_of_future);
  m.def("fail_unseen() -> ()", &fail_unseen);
}
