// tracer/coroutines.cpp: telling coroutines apart.
#include "tracer/coroutines.h"

#include <atomic>
#include <charconv>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "opyard/profiler/names.h"
#include "opyard/profiler/tasks.h"
#include "runtime/look_up.h"
#include "tracer/attributes.h"
#include "tracer/border.h"
#include "tracer/text.h"

namespace opyard::python {
namespace {

std::atomic<std::uint64_t> last_coroutine{0};

// The task that runs on this thread, if it runs this coroutine itself; else null.
HeldObject task_of(PyObject* coroutine) {
  PyObject* const modules = PyImport_GetModuleDict();  // borrowed
  PyObject* const asyncio = find_item(modules, "asyncio.tasks");
  if (asyncio == nullptr) return nullptr;
  // There is none but in a loop that runs: asking raises else.
  HeldObject task(call_method(asyncio, "current_task"));
  if (task == nullptr || task.get() == Py_None) return nullptr;
  const HeldObject runs(call_method(task.get(), "get_coro"));
  return runs.get() == coroutine ? std::move(task) : nullptr;
}

// "Task-5" is the name that asyncio gives.
void name_task(PyObject* task, profiler::CoroutineFacts& facts) {
  constexpr std::string_view kUsual = "Task-";
  const HeldObject says(call_method(task, "get_name"));
  profiler::Name name;
  name.text = text_of(says.get());
  name.kind = "task";
  const char* const digits = name.text.data() + kUsual.size();
  const char* const end = name.text.data() + name.text.size();
  std::uint32_t number = 0;
  if (name.text.starts_with(kUsual) && *digits != '0' &&
      std::from_chars(digits, end, number) == std::from_chars_result{end, std::errc()}) {
    facts.number = number;
    name.text = "Task";
  }
  facts.task = profiler::add_name(std::move(name));
}

}  // namespace

profiler::Payload Coroutines::require(PyFrameObject* frame) noexcept {
  try {
    const HeldObject coroutine(generator_of(frame));
    if (coroutine == nullptr) return {};
    const auto seen = seen_.find(coroutine.get());
    if (seen != seen_.end()) {
      if (referent_of(seen->second.weak) == coroutine.get()) return seen->second.word;
      Py_DECREF(seen->second.weak);
      seen_.erase(seen);
    }
    return add(coroutine.get());
  } catch (const std::bad_alloc&) {
    return {};
  }
}

profiler::Payload Coroutines::add(PyObject* coroutine) {
  PyObject* const pending = take_exception();  // what is thrown into it, perhaps
  profiler::CoroutineFacts facts;
  facts.identity = ++last_coroutine;
  if (const HeldObject task = task_of(coroutine); task != nullptr) name_task(task.get(), facts);
  clear_or_report(PyExc_Exception);
  PyObject* const weak = PyWeakref_NewRef(coroutine, nullptr);
  if (weak == nullptr) clear_or_report(PyExc_Exception);
  if (weak != nullptr) seen_[coroutine] = {weak, facts.word()};
  if (pending != nullptr) restore_exception(pending);
  return facts.word();
}

void Coroutines::forget() noexcept {
  std::unordered_map<PyObject*, Seen> seen;
  seen.swap(seen_);
  for (const auto& [coroutine, one] : seen) Py_DECREF(one.weak);
}

}  // namespace opyard::python
