// tracer/monitoring.cpp: call capture by sys.monitoring, on CPython 3.12 and later.
//
// [Callbacks] are objects of a heap type with vectorcall, one for each event: 10 % cheaper than
// built-in functions (measured). Each gets (code, offset, …) and returns None. CPython runs no
// callback of this tool within one.
//
// [Short] Nearly every event is captured by a function that calls no other, and so saves no
// registers for one. Whatever needs a look is handed on: a code or a callable that is seen first,
// filters, a block that is full.
//
// [Calls of C] CALL, C_RETURN and C_RAISE ask the same question of the same object, so an exit fits
// its enter: `with` calls __exit__ by CALL through a bound method of Python, and sends a C_RETURN
// for it that must be ignored as the CALL was. Where CPython tells of no end, the exit comes right
// behind the enter, so that the call is not around what follows.
//
// [Tools] CPython has six numbers for tools. 4 and 3 belong to no one; 2 is the profiler's by
// convention, but a cProfile of the user's needs that one and fails if it is taken. So it comes
// last.
//
// [DISABLE] is returned for code that a filter leaves out, which then costs next to nothing. From
// PY_THROW and PY_UNWIND it would be an error that removes the callback; there the code's word is
// looked at each time. What an earlier profile switched off stays off until restart_events(), so
// every start calls that.
#include "opyard/detail/python/python.h"

#include <iterator>
#include <string>

#include "opyard/detail/python/clear.h"
#include "opyard/profiler/stream.h"
#include "tracer/attributes.h"
#include "tracer/border.h"
#include "tracer/greenlets.h"
#include "tracer/tracer.h"

namespace opyard::python {
namespace {

using profiler::append_event;
using profiler::enter_of;
using profiler::exit_of;
using profiler::SpanKind;

struct Callback {
  PyObject_HEAD vectorcallfunc vectorcall;
  Tracer* tracer;
  PyObject* disable;  // what switches an event off where it happened; sys.monitoring keeps it
  PyObject* missing;  // what stands for the first argument of a call without one; likewise
};

Tracer& tracer_of(PyObject* self) { return *reinterpret_cast<Callback*>(self)->tracer; }

// See [DISABLE].
PyObject* answer(PyObject* self, bool captured) noexcept {
  if (__builtin_expect(captured, 1)) Py_RETURN_NONE;
  return Py_NewRef(reinterpret_cast<Callback*>(self)->disable);
}

// The long way of [Short]. False if none of this code is captured.
[[gnu::noinline]] bool capture_code(PyObject* self, PyObject* code, bool is_exit) noexcept {
  Tracer& tracer = tracer_of(self);
  if (tracer.interrupted.has_any()) tracer.capture_untold(PyEval_GetFrame(), !is_exit);
  const CodeWord word = tracer.word(code);
  if (!tracer.is_plain(word)) {
    return tracer.capture_special(word, code, PyEval_GetFrame(), is_exit);
  }
  append_event(is_exit ? exit_of(SpanKind::Python) : enter_of(SpanKind::Python), word.key());
  if (profiler::has_begun_block()) watch_greenlets();
  return true;
}
[[gnu::noinline]] PyObject* enter_code(PyObject* self, PyObject* code) {
  return answer(self, capture_code(self, code, false));
}
[[gnu::noinline]] PyObject* exit_code(PyObject* self, PyObject* code) {
  return answer(self, capture_code(self, code, true));
}

// Each begins a cache line.
[[gnu::aligned(64)]] PyObject* on_enter(PyObject* self, PyObject* const* args, std::size_t,
                                        PyObject*) {
  const bool captured = tracer_of(self).capture_shortly(args[0], /*is_exit=*/false);
  if (__builtin_expect(captured, 1)) Py_RETURN_NONE;
  return enter_code(self, args[0]);
}
[[gnu::aligned(64)]] PyObject* on_exit(PyObject* self, PyObject* const* args, std::size_t,
                                       PyObject*) {
  const bool captured = tracer_of(self).capture_shortly(args[0], /*is_exit=*/true);
  if (__builtin_expect(captured, 1)) Py_RETURN_NONE;
  return exit_code(self, args[0]);
}
PyObject* on_throw(PyObject* self, PyObject* const* args, std::size_t, PyObject*) {
  capture_code(self, args[0], false);
  Py_RETURN_NONE;
}
PyObject* on_unwind(PyObject* self, PyObject* const* args, std::size_t, PyObject*) {
  capture_code(self, args[0], true);
  Py_RETURN_NONE;
}

[[gnu::noinline]] PyObject* monitor_call(PyObject* self, PyObject* const* args, bool is_exit) {
  Tracer& tracer = tracer_of(self);
  PyFrameObject* const caller =
      tracer.looks_at_calls || tracer.interrupted.has_any() ? PyEval_GetFrame() : nullptr;
  if (tracer.interrupted.has_any()) tracer.capture_untold(caller, false);
  PyObject* const missing = reinterpret_cast<Callback*>(self)->missing;
  const CallableKey found =
      tracer.callables.require(args[2], args[3] == missing ? nullptr : args[3]);
  const bool ends_untold = !is_exit && PyMethod_Check(args[2]) &&
                           !tells_of_end_of_bound_call(args[0], args[1]);  // see [Calls of C]
  bool captured = true;
  const auto capture_one = [&](bool as_exit) {
    if (tracer.looks_at_calls || found.effect == CallEffect::RunsCode) {
      captured = tracer.capture_call(found, args[0], caller, as_exit);
    } else if (found.key != 0) {
      append_event(as_exit ? exit_of(found.kind) : enter_of(found.kind), found.key);
    }
  };
  capture_one(is_exit);
  if (ends_untold) capture_one(true);
  return answer(self, captured || is_exit);
}
[[gnu::noinline]] PyObject* enter_call(PyObject* self, PyObject* const* args) {
  return monitor_call(self, args, false);
}
[[gnu::noinline]] PyObject* exit_call(PyObject* self, PyObject* const* args) {
  return monitor_call(self, args, true);
}

// The call of a function in Python is told of by its code, too.
[[gnu::aligned(64)]] PyObject* on_call(PyObject* self, PyObject* const* args, std::size_t,
                                       PyObject*) {
  Tracer& tracer = tracer_of(self);
  const bool captured = CallableKeys::is_function(args[2], args[3]) &&
                        tracer.capture_call_shortly(args[2], /*is_exit=*/false);
  if (captured || (PyFunction_Check(args[2]) && !tracer.looks_at_calls)) Py_RETURN_NONE;
  return enter_call(self, args);
}
[[gnu::aligned(64)]] PyObject* on_c_exit(PyObject* self, PyObject* const* args, std::size_t,
                                         PyObject*) {
  const bool captured = CallableKeys::is_function(args[2], args[3]) &&
                        tracer_of(self).capture_call_shortly(args[2], /*is_exit=*/true);
  if (__builtin_expect(captured, 1)) Py_RETURN_NONE;
  return exit_call(self, args);
}

// Of chosen codes alone, see tracer/lines/lines.h.
PyObject* on_line_event(PyObject* self, PyObject* const* args, std::size_t, PyObject*) {
  tracer_of(self).lines.begin_line(args[0], int(PyLong_AsLong(args[1])));
  Py_RETURN_NONE;
}

struct EventHook {
  const char* event;  // in sys.monitoring.events; null for what CALL brings with it
  const char* name;
  vectorcallfunc function;
  bool of_c;
};
constexpr std::size_t kLineEvent = 9;
constexpr EventHook kEvents[] = {
    {"PY_START", "PY_START", on_enter, false}, {"PY_RESUME", "PY_RESUME", on_enter, false},
    {"PY_THROW", "PY_THROW", on_throw, false}, {"PY_RETURN", "PY_RETURN", on_exit, false},
    {"PY_YIELD", "PY_YIELD", on_exit, false},  {"PY_UNWIND", "PY_UNWIND", on_unwind, false},
    {"CALL", "CALL", on_call, true},           {nullptr, "C_RETURN", on_c_exit, true},
    {nullptr, "C_RAISE", on_c_exit, true},     {nullptr, "LINE", on_line_event, false},
};
constexpr int kToolOrder[] = {4, 3, 5, 1, 0, 2};
constexpr const char* kToolName = "opyard.profiler";

void free_callback(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMemberDef callback_members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(Callback, vectorcall), Py_READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot callback_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(free_callback)},
                                {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_members, callback_members},
                                {0, nullptr}};
PyType_Spec callback_spec = {"opyard._tracer.Callback", sizeof(Callback), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
                                 Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                             callback_slots};

// A new reference. Not by PySys_GetObject(), which takes a want of memory for a missing name.
PyObject* monitoring() {
  PyObject* const sys = checked_new(PyImport_ImportModule("sys"));
  PyObject* const found = attribute_of(sys, "monitoring");
  Py_DECREF(sys);
  if (found == nullptr && PyErr_ExceptionMatches(PyExc_AttributeError) != 0) {
    PyErr_SetString(PyExc_RuntimeError, "sys.monitoring is gone, which the profiler needs");
  }
  return checked_new(found);
}
PyObject* attribute_of_monitoring(const char* name) {
  PyObject* const found = monitoring();
  PyObject* const attribute = attribute_of(found, name);
  Py_DECREF(found);
  return checked_new(attribute);
}

// What sys.monitoring.<name>(…) returns, a new reference. Arguments are built as Py_BuildValue()
// builds a tuple.
template <typename... Args>
PyObject* monitoring_result(const char* name, const char* format, Args... args) {
  PyObject* const function = attribute_of_monitoring(name);
  PyObject* const packed = Py_BuildValue(format, args...);
  PyObject* const result = packed == nullptr ? nullptr : PyObject_CallObject(function, packed);
  Py_XDECREF(packed);
  Py_DECREF(function);
  return checked_new(result);
}
template <typename... Args>
void monitoring_call(const char* name, const char* format, Args... args) {
  Py_DECREF(monitoring_result(name, format, args...));
}

long number_of_event(const char* name) {
  PyObject* const events = attribute_of_monitoring("events");
  PyObject* const number = attribute_of(events, name);
  Py_DECREF(events);
  const long value = PyLong_AsLong(checked_new(number));
  Py_DECREF(number);
  return value;
}

}  // namespace

struct Hooks {
  PyObject* callbacks[std::size(kEvents)] = {};
  long events[std::size(kEvents)] = {};
  long wanted = 0;
  int tool = -1;
};

Hooks* make_hooks(PyObject* module, Tracer& tracer) {
  PyObject* const disable = attribute_of_monitoring("DISABLE");
  Py_DECREF(disable);  // sys.monitoring keeps it
  PyObject* const missing = attribute_of_monitoring("MISSING");
  Py_DECREF(missing);  // likewise
  PyObject* const type = checked_new(PyType_FromModuleAndSpec(module, &callback_spec, nullptr));
  auto* const hooks = new Hooks;
  for (std::size_t n = 0; n < std::size(kEvents); ++n) {
    auto* const callback = PyObject_New(Callback, reinterpret_cast<PyTypeObject*>(type));
    if (callback == nullptr) break;
    callback->vectorcall = kEvents[n].function;
    callback->tracer = &tracer;
    callback->disable = disable;
    callback->missing = missing;
    hooks->callbacks[n] = reinterpret_cast<PyObject*>(callback);
  }
  Py_DECREF(type);
  if (PyErr_Occurred() != nullptr) {
    free_hooks(hooks);
    throw PythonErrorSet();
  }
  return hooks;
}

void free_hooks(Hooks* hooks) noexcept {
  if (hooks == nullptr) return;
  for (PyObject* const callback : hooks->callbacks) Py_XDECREF(callback);
  delete hooks;
}

namespace {

void take_tool(Hooks& hooks) {
  std::string taken;
  for (const int tool : kToolOrder) {
    PyObject* const holder = monitoring_result("get_tool", "(i)", tool);
    const bool is_free = holder == Py_None;
    if (!is_free) {
      PyObject* const text = PyObject_Str(holder);
      taken += (taken.empty() ? "" : ", ") + std::to_string(tool) + " by " +
               (text == nullptr ? "?" : PyUnicode_AsUTF8(text));
      Py_XDECREF(text);
    }
    Py_DECREF(holder);
    if (!is_free) continue;
    monitoring_call("use_tool_id", "(is)", tool, kToolName);
    hooks.tool = tool;
    return;
  }
  PyErr_Format(PyExc_RuntimeError,
               "every tool number of sys.monitoring is taken (%s); stop one of these tools "
               "before profiling",
               taken.c_str());
  throw PythonErrorSet();
}

}  // namespace

void prepare_hooks(Tracer& tracer) {
  Hooks& hooks = *tracer.hooks;
  take_tool(hooks);
  try {
    monitoring_call("restart_events", "()");
    hooks.wanted = 0;
    for (std::size_t n = 0; n < std::size(kEvents); ++n) {
      const EventHook& event = kEvents[n];
      if (event.of_c && !tracer.c_calls) continue;
      hooks.events[n] = number_of_event(event.name);
      if (event.event != nullptr) hooks.wanted |= hooks.events[n];
      monitoring_call("register_callback", "(ilO)", hooks.tool, hooks.events[n],
                      hooks.callbacks[n]);
    }
  } catch (const PythonErrorSet&) {
    PyObject* const exception = take_exception();
    stop_hooks(tracer);
    restore_exception(exception);
    throw;
  }
}

void start_hooks(Tracer& tracer) {
  monitoring_call("set_events", "(il)", tracer.hooks->tool, tracer.hooks->wanted);
}

namespace {

// Whether the tool's number is still ours: a program may free any.
bool holds_tool(const Hooks& hooks) {
  PyObject* const holder = monitoring_result("get_tool", "(i)", hooks.tool);
  const bool is_ours =
      PyUnicode_Check(holder) && PyUnicode_CompareWithASCIIString(holder, kToolName) == 0;
  Py_DECREF(holder);
  return is_ours;
}

// True if a program had put another callback in the place of ours, which stays if it is to.
bool take_back(const Hooks& hooks, std::size_t n, bool other_stays) {
  const auto put = [&](PyObject* callback) {
    return monitoring_result("register_callback", "(ilO)", hooks.tool, hooks.events[n], callback);
  };
  PyObject* const former = put(Py_None);
  const bool is_other = former != hooks.callbacks[n];
  if (is_other && other_stays && former != Py_None) Py_DECREF(put(former));
  Py_DECREF(former);
  return is_other;
}

long events_of_tool(const Hooks& hooks) {
  PyObject* const events = monitoring_result("get_events", "(i)", hooks.tool);
  const long set = PyLong_AsLong(events);
  Py_DECREF(events);
  return set;
}

}  // namespace

namespace {

void set_line_events(Tracer& tracer, PyObject* code, bool on) noexcept {
  const Hooks& hooks = *tracer.hooks;
  try {
    monitoring_call("set_local_events", "(iOl)", hooks.tool, code,
                    on ? hooks.events[kLineEvent] : 0L);
  } catch (const PythonErrorSet&) {  // its lines are not told of
    clear_or_report(PyExc_Exception);
  }
}

}  // namespace

void start_lines(Tracer& tracer, PyObject* code) noexcept { set_line_events(tracer, code, true); }

void stop_lines(Tracer& tracer) noexcept {
  tracer.lines.end_open_calls();
  if (tracer.hooks->tool < 0 || tracer.lines.chosen().empty()) return;
  try {
    if (!holds_tool(*tracer.hooks)) return;  // what is set is another's
  } catch (const PythonErrorSet&) {
    clear_or_report(PyExc_Exception);
    return;
  }
  for (const auto& [code, function] : tracer.lines.chosen()) set_line_events(tracer, code, false);
}

void follow_lines(Tracer&) noexcept {}
void follow_all_lines(Tracer&) noexcept {}

void stop_hooks(Tracer& tracer) noexcept {
  Hooks& hooks = *tracer.hooks;
  if (hooks.tool < 0) return;
  // Twice if it lacks memory: a tool number that is left behind stays taken.
  const auto attempt = [](auto&& step) {
    for (int left = 2; left > 0; --left) {
      try {
        step();
        return;
      } catch (const PythonErrorSet&) {
        if (PyErr_ExceptionMatches(PyExc_MemoryError) == 0) left = 1;
        clear_or_report(PyExc_Exception);
      }
    }
  };
  bool is_ours = false;
  attempt([&] { is_ours = holds_tool(hooks); });
  tracer.taken += !is_ours;  // what is there now is another's
  if (is_ours) {
    attempt([&] { tracer.taken += tracer.active && events_of_tool(hooks) != hooks.wanted; });
    attempt([&] { monitoring_call("set_events", "(il)", hooks.tool, 0L); });
  }
  for (std::size_t n = 0; n < std::size(kEvents); ++n) {
    if (hooks.events[n] == 0) continue;
    attempt([&] { tracer.taken += take_back(hooks, n, !is_ours) && is_ours; });
  }
  if (is_ours) attempt([&] { monitoring_call("free_tool_id", "(i)", hooks.tool); });
  for (long& event : hooks.events) event = 0;
  hooks.tool = -1;
}

void renew_hooks(Tracer&) noexcept {}

}  // namespace opyard::python
