// tracer/coroutines.cpp: identity of coroutines and asyncio tasks.
#include "tracer/coroutines.h"

#include <atomic>
#include <charconv>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "opyard/detail/profiler/tasks.h"
#include "opyard/profiler/names.h"
#include "tracer/attributes.h"
#include "tracer/border.h"
#include "tracer/text.h"

namespace opyard::python {
namespace {

std::atomic<std::uint64_t> last_coroutine{0};

// The task that runs on this thread, if it runs this coroutine itself; else null.
HeldObject task_of(PyObject* coroutine) {
  // Not by PyImport_GetModuleDict(), which ends the process once the interpreter has cleared it.
  const HeldObject name(PyUnicode_InternFromString("asyncio.tasks"));
  const HeldObject asyncio(name == nullptr ? nullptr : PyImport_GetModule(name.get()));
  if (asyncio == nullptr) return nullptr;
  // There is none but in a loop that runs: asking raises else.
  HeldObject task(call_method(asyncio.get(), "current_task"));
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

// A coroutine that CPython frees while it is suspended runs once more, when its weak references
// have been cleared already: one that was taken then would lead to freed memory for ever. So no
// reference of any kind is taken. What was there before at this address has ended if this one
// begins.
profiler::Payload Coroutines::require(PyFrameObject* frame, std::uint32_t code_key) noexcept {
  try {
    const HeldObject coroutine(generator_of(frame));
    if (coroutine == nullptr) return {};
    if (!is_first_entry(frame)) {
      const auto seen = seen_.find(coroutine.get());
      if (seen != seen_.end() && seen->second.code_key == code_key) return seen->second.word;
    }
    return add(coroutine.get(), code_key);
  } catch (const std::bad_alloc&) {
    return {};
  }
}

profiler::Payload Coroutines::add(PyObject* coroutine, std::uint32_t code_key) {
  PyObject* const pending = take_exception();  // what is thrown into it, perhaps
  profiler::CoroutineFacts facts;
  facts.identity = ++last_coroutine;
  if (const HeldObject task = task_of(coroutine); task != nullptr) name_task(task.get(), facts);
  clear_or_report(PyExc_Exception);
  seen_[coroutine] = {code_key, facts.word()};
  if (pending != nullptr) restore_exception(pending);
  return facts.word();
}

void Coroutines::note_begin(PyFrameObject* frame) noexcept {
  const HeldObject coroutine(generator_of(frame));
  if (coroutine != nullptr && is_first_entry(frame)) seen_.erase(coroutine.get());
}

}  // namespace opyard::python
