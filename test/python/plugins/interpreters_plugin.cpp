// test/python/plugins/interpreters_plugin.cpp: state in C++ that tests of several interpreters share, and that
// belongs to none: tensors by name, and calls on threads that are in no interpreter.
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "opyard/library.h"

namespace {

using opyard::Stack;
using opyard::Tensor;
using opyard::Value;

// Lives as long as the process: threads may outlive every interpreter.
struct Kept {
  std::mutex mutex;
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> outcomes;
  std::condition_variable opened;
  bool open = false;
};
Kept& kept() {
  static auto* const one = new Kept;
  return *one;
}

Tensor find(const std::string& name) {
  const std::lock_guard lock(kept().mutex);
  return kept().tensors.at(name);
}
void keep(const std::string& name, const Tensor& x) {
  const Tensor former = [&] {
    const std::lock_guard lock(kept().mutex);
    return std::exchange(kept().tensors[name], x);
  }();
}
void forget(const std::string& name) {
  const auto node = [&] {
    const std::lock_guard lock(kept().mutex);
    return kept().tensors.extract(name);
  }();
}
Tensor give(const std::string& name) { return find(name); }
Tensor give_alias(const std::string& name) { return find(name).alias(); }

// Calls an operator of one tensor with one that is kept, on a thread that is in no interpreter.
// What it gives is kept under `outcome`; outcome(name) is "" until then, "ok", or the error.
std::string run(const std::string& op, const std::string& argument, const std::string& outcome) {
  try {
    Stack stack;
    stack.push(Value(find(argument)));
    opyard::require_operator(op).call_boxed(stack);
    keep(outcome, stack.pop().to_tensor());
    return "ok";
  } catch (const opyard::Error& error) {
    return error.what();
  }
}
void begin(std::string op, std::string argument, std::string outcome) {
  std::thread([=] {
    const std::string text = run(op, argument, outcome);
    const std::lock_guard lock(kept().mutex);
    kept().outcomes[outcome] = text;
  }).detach();
}
std::string outcome(const std::string& name) {
  const std::lock_guard lock(kept().mutex);
  const auto found = kept().outcomes.find(name);
  return found == kept().outcomes.end() ? "" : found->second;
}

// Gives its argument once open_gate() was called.
Tensor pass_gate(const Tensor& x) {
  std::unique_lock lock(kept().mutex);
  kept().opened.wait(lock, [] { return kept().open; });
  return x;
}
void open_gate() {
  const std::lock_guard lock(kept().mutex);
  kept().open = true;
  kept().opened.notify_all();
}

// The outcome of a future, from a thread that is in no interpreter.
void watch(const std::string& outcome, const opyard::Future<Value>& future) {
  std::thread([=] {
    std::string text = "ok";
    try {
      future.object()->wait();
    } catch (const opyard::Error& error) {
      text = error.what();
    }
    const std::lock_guard lock(kept().mutex);
    kept().outcomes[outcome] = text;
  }).detach();
}

Tensor cpp_add(const Tensor& x, const Tensor& y) {
  Tensor sum = Tensor::empty(x.sizes(), opyard::DType::Float32);
  const auto* const a = x.data<float>();
  const auto* const b = y.data<float>();
  auto* const out = sum.mutable_data<float>();
  for (std::int64_t i = 0; i < x.numel(); ++i) out[i] = a[i] + b[i];
  return sum;
}

}  // namespace

OPYARD_LIBRARY(interpreters, m) {
  m.def("keep(str name, Tensor x) -> ()", &keep);
  m.def("forget(str name) -> ()", &forget);
  m.def("give(str name) -> Tensor", &give);
  m.def("give_alias(str name) -> Tensor", &give_alias);
  m.def("begin(str op, str argument, str outcome) -> ()", &begin);
  m.def("outcome(str name) -> str", &outcome);
  m.def("pass_gate(Tensor x) -> Tensor", &pass_gate);
  m.def("open_gate() -> ()", &open_gate);
  m.def("watch(str outcome, Future(Any) future) -> ()", &watch);
  m.def("add(Tensor x, Tensor y) -> Tensor", &cpp_add);
  m.def("sum(Tensor x, Tensor y) -> Tensor", &cpp_add);
  m.def("plain(Tensor x) -> Tensor");
}
