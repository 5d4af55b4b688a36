// tracer/special.cpp: slow path of call events: hidden code, and filters.
//
// [Depth] counts the calls of Python that are open on a thread and are not left out by a pattern.
// It begins with 0 when the profile begins, so the exit of a frame that was open then does not
// count.
//
// [Short calls] are removed at their exit. What is inside a short call is shorter still, and was
// removed before, so the call's enter is the last event of its stream then.
#include "opyard/detail/python/python.h"

#include <new>
#include <utility>

#include "opyard/detail/profiler/files.h"
#include "opyard/detail/python/clear.h"
#include "opyard/detail/python/look_up.h"
#include "opyard/profiler/names.h"
#include "opyard/profiler/stream.h"
#include "tracer/border.h"
#include "tracer/greenlets.h"
#include "tracer/text.h"
#include "tracer/tracer.h"

namespace opyard::python {
namespace {

using profiler::enter_of;
using profiler::exit_of;
using profiler::SpanKind;

// See [Depth].
struct Depth {
  std::uint32_t profile;
  std::uint32_t open;
};
thread_local Depth depth{0, 0};

// Of the calls inside a call that is being captured. True if this one is deep enough to be left
// out.
bool goes_too_deep(std::uint32_t profile, std::uint32_t most, bool is_exit) noexcept {
  if (depth.profile != profile) depth = {profile, 0};
  if (!is_exit) return ++depth.open > most;
  return depth.open != 0 && depth.open-- > most;
}

// An event has 16 bits for it; 0 is none.
std::uint16_t line_of(PyFrameObject* frame) noexcept {
  const int line = frame == nullptr ? 0 : PyFrame_GetLineNumber(frame);
  return line > 0 && line < 0x10000 ? std::uint16_t(line) : std::uint16_t{0};
}
std::uint16_t line_of_caller(PyFrameObject* frame) noexcept {
  PyFrameObject* const caller = frame == nullptr ? nullptr : PyFrame_GetBack(frame);
  const std::uint16_t line = line_of(caller);
  Py_XDECREF(caller);
  return line;
}

}  // namespace

void Tracer::set_options(const profiler::SessionOptions& options) {
  c_calls = options.c_calls;
  by_instance = options.instances;
  collections = options.collections;
  caller_lines = options.calls.caller_lines;
  max_depth = options.calls.max_depth;
  least_ticks =
      options.calls.min_duration_ns == 0 ? 0 : profiler::ticks_of(options.calls.min_duration_ns);
  filter.set(options.calls.include, options.calls.exclude, options.calls.lines);
  callables.set_filter(&filter);
  const bool always = caller_lines || max_depth != 0 || least_ticks != 0;
  looks_at_calls = always || filter.leaves_out_any();
  constexpr auto kKnown = std::uint32_t(std::uint64_t(CodeFlag::Known) >> 32);
  plain = always ? ~std::uint32_t{0} : kKnown | filter.number() << (kFilterShift - 32);
  begin_ticks = profiler::now_ticks();
  ++number;
  lines.begin();
}

void Tracer::choose_path() noexcept {
  const bool is_open =
      active && !interrupted.has_any() && profiler::clock_source == profiler::ClockSource::Counter;
  shortest = is_open ? plain : ~std::uint32_t{0};
  callables.use_held(is_open && c_calls && !looks_at_calls);
}

bool Tracer::is_left_out(CodeWord& word, PyObject* code) noexcept {
  if (word.has(CodeFlag::Hidden)) return true;
  if (word.filter() != filter.number()) {
    bool excluded = false;
    bool chosen = false;
    try {
      if (filter.number() != 0) {
        const profiler::Name& name = profiler::name_of(word.key());
        excluded = filter.leaves_out_file(name.file);
        chosen = !excluded && filter.chooses_lines(name);
      }
    } catch (const std::bad_alloc&) {  // captured, then
    }
    word = codes.set_filter(code, word, filter.number(), excluded);
    if (chosen) {
      choose_lines(code, word.key());
      word = codes.find(code);
    }
  }
  return word.has(CodeFlag::Excluded);
}

void Tracer::choose_lines(PyObject* code, std::uint32_t key) noexcept {
  try {
    if (!lines.choose(code, key)) return;
    codes.set_flag(code, CodeFlag::Lines);
    if (active) start_lines(*this, code);
  } catch (const PythonErrorSet&) {  // its lines are not told of
    clear_or_report(PyExc_Exception);
  } catch (const std::bad_alloc&) {
  }
}

void Tracer::note_lines(PyObject* code, PyFrameObject* frame, bool is_exit) noexcept {
  if (is_exit) {
    lines.exit(code);
  } else {
    // What goes on is in the midst of a line already.
    constexpr int kGoesOn = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
    const int flags = reinterpret_cast<PyCodeObject*>(code)->co_flags;
    const bool goes_on = (flags & kGoesOn) != 0 && frame != nullptr && !is_first_entry(frame);
    lines.enter(code, goes_on ? PyFrame_GetLineNumber(frame) : 0);
  }
  follow_lines(*this);
}

void Tracer::note_name_of_thread(PyFrameObject* frame, bool is_end) noexcept {
  constexpr std::size_t kMost = 10'000;
  PyObject* const thread = first_argument_of(frame);
  PyObject* const attributes =
      thread == nullptr ? nullptr : PyObject_GenericGetDict(thread, nullptr);
  Py_XDECREF(thread);
  try {
    // In its dictionary: asking for an attribute could run code of the program's.
    PyObject* const name = attributes == nullptr ? nullptr : find_item(attributes, "_name");
    profiler::Stream* const stream = profiler::Stream::current();
    if (name != nullptr && stream != nullptr) {
      profiler::ThreadName named{stream->handle(), stream->native_id(), text_of(name)};
      profiler::write_thread_name(named);
      if (is_end) ended_threads.push_back(std::move(named));
      if (ended_threads.size() > kMost) ended_threads.pop_front();
    }
  } catch (const std::bad_alloc&) {  // a thread without a name, then
  }
  clear_or_report(PyExc_Exception);
  Py_XDECREF(attributes);
}

void Tracer::capture_exit(profiler::EventKind enter, profiler::EventKind exit,
                          std::uint32_t key) noexcept {
  profiler::Stream* const stream = profiler::Stream::current();
  if (stream == nullptr) return;
  // See [Short calls].
  if (least_ticks != 0) {
    const std::uint64_t now = profiler::now_ticks();
    const std::uint64_t earliest = now > least_ticks ? now - least_ticks : 0;
    if (stream->take_back(enter, key, earliest > begin_ticks ? earliest : begin_ticks)) return;
  }
  stream->append(exit, key);
}

SpanKind Tracer::kind_of(CodeWord word) const noexcept {
  if (!by_instance) return SpanKind::Python;
  if (word.has(CodeFlag::Optimizer)) return SpanKind::Optimizer;
  return word.has(CodeFlag::Module) ? SpanKind::Module : SpanKind::Python;
}

// Enter and exit carry the key of the code, so that they fit each other whatever the function does
// to its first argument; the enter has the instance behind it, which the span is shown by.
bool Tracer::capture_special(CodeWord word, PyObject* code, PyFrameObject* frame,
                             bool is_exit) noexcept {
  const bool is_thread = word.has(CodeFlag::ThreadBody);
  // At its begin for a capture in files alone, which a program that is killed leaves.
  if (is_thread && frame != nullptr && (is_exit || profiler::writes_files())) {
    note_name_of_thread(frame, is_exit);
  }
  const bool is_greenlets = word.has(CodeFlag::Greenlets);
  if (is_greenlets && is_exit) watch_greenlets();
  // The ends of some are wanted all the same.
  if (is_left_out(word, code)) return is_thread || is_greenlets;
  const bool was_at_entry = word.has(CodeFlag::AtEntry) && at_entry.take(codes, frame);
  const bool is_known = was_at_entry && !is_exit;  // it is open, and counts in no depth
  if (word.has(CodeFlag::Lines) && active && !is_known) note_lines(code, frame, is_exit);
  if (max_depth != 0 && !is_known && goes_too_deep(number, max_depth, is_exit)) {
    if (!is_exit && word.has(CodeFlag::Coroutine) && frame != nullptr) coroutines.note_begin(frame);
    return true;
  }
  const SpanKind kind = kind_of(word);
  if (is_exit) {
    capture_exit(enter_of(kind), exit_of(kind), word.key());
    return true;
  }
  const std::uint16_t line = caller_lines ? line_of_caller(frame) : std::uint16_t{0};
  const std::uint32_t profile = number;
  profiler::Payload behind{};
  if (kind != SpanKind::Python && frame != nullptr) {
    if (PyObject* const self = first_argument_of(frame); self != nullptr) {
      behind.first = instances.require(word.key(), self);
      Py_DECREF(self);
    }
  } else if (word.has(CodeFlag::Coroutine) && frame != nullptr) {
    behind = coroutines.require(frame, word.key());
  }
  if (profile != number) return true;  // what was asked ran so long that it is open in the next one
  profiler::Stream* const stream = profiler::Stream::current();
  if (stream == nullptr) return true;
  if (is_known) stream->append(event_of(profiler::MarkKind::KnownCall), word.key());
  if (behind.first == 0 && behind.second == 0) {
    stream->append(enter_of(kind), word.key(), line);
  } else {
    stream->append(enter_of(kind), word.key(), line, &behind, 1);
  }
  return true;
}

bool Tracer::capture_call(CallableKey found, PyObject* code, PyFrameObject* caller,
                          bool is_exit) noexcept {
  CodeWord of_caller = word(code);
  // First: what calls a function in Python is switched off, too, though that call is none of C.
  if (is_left_out(of_caller, code)) return false;
  if (found.key == 0) return true;
  if (max_depth != 0) {
    const bool too_deep = goes_too_deep(number, max_depth, is_exit);
    if (too_deep) return true;
  }
  if (is_exit) {
    capture_exit(enter_of(found.kind), exit_of(found.kind), found.key);
  } else {
    profiler::append_event(enter_of(found.kind), found.key,
                           caller_lines ? line_of(caller) : std::uint16_t{0});
  }
  return true;
}

}  // namespace opyard::python
