// tracer/lines/hottest.cpp: the functions whose lines are timed if none were named.
#include "tracer/lines/hottest.h"

#include <unistd.h>

#include <chrono>
#include <new>
#include <utility>

#include "opyard/detail/python/clear.h"
#include "opyard/profiler/names.h"
#include "tracer/border.h"
#include "tracer/tracer.h"

namespace opyard::python {
namespace {

constexpr auto kPause = std::chrono::milliseconds(10);
constexpr std::size_t kMostFunctions = 10;
// A function is hot if it was found so often, and each so many times that any was.
constexpr std::uint32_t kLeastFound = 5;
constexpr std::uint32_t kLeastShare = 20;

}  // namespace

void Hottest::start(Tracer& tracer, profiler::FoldRules rules) {
  rules_ = std::move(rules);
  found_.clear();
  all_found_ = 0;
  has_state_ = ends_ = false;
  process_ = getpid();
  tracer_ = &tracer;
  try {
    thread_ = std::thread([this, interpreter = PyInterpreterState_Get()] { run(interpreter); });
  } catch (...) {
    tracer_ = nullptr;
    throw;
  }
  // Its state is in the interpreter's list from now on: who walks that under the GIL sees it whole.
  std::unique_lock lock(mutex_);
  // By time: wait() without is of a libstdc++ that older systems lack.
  while (!has_state_) woken_.wait_for(lock, std::chrono::hours(1));
}

void Hottest::stop() noexcept {
  if (tracer_ == nullptr) return;
  tracer_ = nullptr;
  if (process_ != getpid()) {
    new (&thread_) std::thread();  // there is none to wait for
    new (&mutex_) std::mutex();    // which it may have held
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  woken_.notify_one();
  Py_BEGIN_ALLOW_THREADS thread_.join();
  Py_END_ALLOW_THREADS
}

void Hottest::run(PyInterpreterState* interpreter) {
  PyThreadState* const state = PyThreadState_New(interpreter);  // takes no GIL
  {
    const std::lock_guard lock(mutex_);
    has_state_ = true;
  }
  woken_.notify_one();
  if (state == nullptr) return;  // nothing is found
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (woken_.wait_for(lock, kPause, [&] { return ends_; })) break;
    }
    PyEval_RestoreThread(state);
    try {
      if (tracer_ != nullptr) look();
    } catch (const PythonErrorSet&) {
      clear_or_report(PyExc_Exception);
    } catch (const std::bad_alloc&) {  // another time
    }
    PyEval_SaveThread();
  }
  PyEval_RestoreThread(state);
  PyThreadState_Clear(state);
  PyThreadState_DeleteCurrent();
}

// The innermost one of a thread that is the program's own, borrowed from its frame; or null.
PyObject* Hottest::find_own_code(PyThreadState* state) {
  HeldFrame frame(innermost_frame_of(state));
  while (frame != nullptr) {
    PyObject* const code = code_of(frame.get());
    CodeWord word = tracer_->word(code);
    if (!tracer_->is_left_out(word, code) &&
        profiler::origin_of(profiler::name_of(word.key()), rules_) == profiler::Origin::Own) {
      return code;
    }
    frame.reset(PyFrame_GetBack(frame.get()));
  }
  clear_or_report(PyExc_MemoryError);
  return nullptr;
}

void Hottest::look() {
  Tracer& tracer = *tracer_;
  if (tracer.lines.chosen().size() >= kMostFunctions) return;
  const PauseCollector pause;  // neither finalisers nor other threads run meanwhile
  bool has_new = false;
  for (PyThreadState* state = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
       state != nullptr; state = PyThreadState_Next(state)) {
    PyObject* const code = find_own_code(state);
    if (code == nullptr) continue;
    const std::uint32_t key = tracer.word(code).key();
    const std::uint32_t found = ++found_[key];
    ++all_found_;
    const bool is_hot = found >= kLeastFound && std::uint64_t{found} * kLeastShare >= all_found_;
    if (!is_hot || tracer.word(code).has(CodeFlag::Lines)) continue;
    tracer.choose_lines(code, key);
    has_new = true;
  }
  if (!has_new) return;
  tracer.lines.find_open_calls(tracer.codes);
  follow_all_lines(tracer);
}

}  // namespace opyard::python
