// tracer/lines/lines.cpp: time and counts by line of chosen functions.
#include "opyard/detail/python/python.h"

#include "tracer/lines/lines.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>

#include "opyard/profiler/clock.h"
#include "tracer/border.h"

namespace opyard::python {
namespace {

using profiler::now_ticks;

// Whether calls of other functions are counted, see Thread: sys.monitoring tells of chosen ones
// alone.
constexpr bool kCountsOthers = PY_VERSION_HEX < 0x030C0000;

// The thread that was asked for last on this thread of the system.
struct Known {
  std::uint64_t number = 0;
  std::uint64_t state_id = 0;
  Lines::Thread* thread = nullptr;
};
thread_local Known known;

void end_line(Lines::Call& call, std::uint64_t now) noexcept {
  if (call.line == nullptr) return;
  const std::uint64_t whole = now > call.begin ? now - call.begin : 0;
  call.line->ticks += whole > call.inside ? whole - call.inside : 0;
  call.line = nullptr;
}

void begin_line_of(Lines::Call& call, Lines::Line* line) noexcept {
  call.line = line;
  call.inside = 0;
  call.begin = now_ticks();  // what was done since the event is no part of the line
}

// Null if there is no memory for it.
Lines::Line* find_line(const Lines::Function& function, int line) noexcept {
  try {
    return &const_cast<Lines::Function&>(function).lines[line];
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

void Lines::begin() noexcept {
  static std::atomic<std::uint64_t> last{0};
  number_ = ++last;
}

bool Lines::choose(PyObject* code, std::uint32_t key) {
  const bool is_new = functions_.try_emplace(code, Function{code, key, {}}).second;
  if (is_new) Py_INCREF(code);
  return is_new;
}

Lines::Thread* Lines::thread() noexcept {
  const std::uint64_t id = PyThreadState_Get()->id;
  if (known.number == number_ && known.state_id == id) return known.thread;
  try {
    Thread& found = threads_[id];
    known = {number_, id, &found};
    return &found;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

Lines::Thread* Lines::find_thread(std::uint64_t state_id) noexcept {
  const auto found = threads_.find(state_id);
  return found == threads_.end() ? nullptr : &found->second;
}

void Lines::enter(PyObject* code, int line) noexcept {
  Thread* const here = thread();
  const auto found = functions_.find(code);
  if (here == nullptr || found == functions_.end()) return;
  const Function& function = found->second;
  try {
    here->calls.push_back({&function, nullptr, now_ticks(), 0, 0, here->above});
  } catch (const std::bad_alloc&) {
    return;
  }
  here->above = 0;
  if (line != 0) begin_line_of(here->calls.back(), find_line(function, line));
}

void Lines::exit(const PyObject* code) noexcept {
  Thread* const here = thread();
  if (here == nullptr || here->calls.empty()) return;
  if (kCountsOthers && here->above != 0) return;
  const Call ended = here->calls.back();
  if (ended.function->code != code) return;
  const std::uint64_t now = now_ticks();
  end_line(here->calls.back(), now);
  here->calls.pop_back();
  here->above = ended.above;
  const auto outer = std::find_if(here->calls.rbegin(), here->calls.rend(), [&](const Call& call) {
    return call.function == ended.function;
  });
  if (outer != here->calls.rend()) outer->inside += now - ended.entered;
}

void Lines::begin_line(const PyObject* code, int line) noexcept {
  Thread* const here = thread();
  if (here == nullptr || here->calls.empty()) return;
  Call& call = here->calls.back();
  if (call.function->code != code) return;
  end_line(call, now_ticks());
  Line* const begun = find_line(*call.function, line);
  if (begun == nullptr) return;
  ++begun->count;
  begin_line_of(call, begun);
}

void Lines::end_open_calls() noexcept {
  const std::uint64_t now = now_ticks();
  for (auto& [id, thread] : threads_) {
    std::unordered_map<const Function*, std::uint64_t> inside;
    while (!thread.calls.empty()) {
      Call& call = thread.calls.back();
      try {
        std::uint64_t& inner = inside[call.function];
        call.inside += inner;
        inner = now - call.entered;
      } catch (const std::bad_alloc&) {  // a call inside of the same function counts twice
      }
      end_line(call, now);
      thread.calls.pop_back();
    }
    thread.above = 0;
  }
}

void Lines::find_open_calls(CodeKeys& codes) {
  end_open_calls();
  if (functions_.empty()) return;
  for (PyThreadState* state = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
       state != nullptr; state = PyThreadState_Next(state)) {
    std::vector<HeldFrame> frames;  // the innermost first
    for (HeldFrame frame(innermost_frame_of(state)); frame != nullptr;) {
      PyFrameObject* const outer = PyFrame_GetBack(frame.get());
      frames.push_back(std::move(frame));
      frame.reset(outer);
    }
    clear_or_report(PyExc_MemoryError);  // frames that cannot be had count as closed
    for (auto at = frames.rbegin(); at != frames.rend(); ++at) {
      PyFrameObject* const frame = at->get();
      PyObject* const code = code_of(frame);
      const auto found =
          codes.find(code).has(CodeFlag::Lines) ? functions_.find(code) : functions_.end();
      Thread* const thread =
          found == functions_.end() ? find_thread(state->id) : &threads_[state->id];
      if (found != functions_.end()) {
        Line* const line = find_line(found->second, PyFrame_GetLineNumber(frame));
        const std::uint64_t now = now_ticks();
        thread->calls.push_back({&found->second, line, now, now, 0, thread->above});
        thread->above = 0;
      } else if (thread != nullptr && !thread->calls.empty()) {
        ++thread->above;
      }
    }
  }
}

void Lines::report(profiler::SourceReport& report) {
  end_open_calls();
  for (const auto& [code, function] : functions_) {
    for (const auto& [number, line] : function.lines) {
      report.lines.push_back({function.key, number, line.count, line.ticks});
    }
  }
}

void Lines::forget(CodeKeys& codes) noexcept {
  number_ = 0;
  threads_.clear();
  for (const auto& [code, function] : functions_) {
    codes.clear_flag(code, CodeFlag::Lines);
    Py_DECREF(code);
  }
  functions_.clear();
}

}  // namespace opyard::python
