// opyard/detail/python/traced_python.h: the table of CPython versions for tracers.
//
// Words stored in code objects, frames' arguments, threads' ids, profile functions. Apart from
// python/python.h, which every file of the plugin includes.
//
// Threads: with the GIL held. Depends on: python/python.h.
#pragma once

#include "opyard/detail/python/clear.h"
#include "opyard/detail/python/python.h"

#include <frameobject.h>  // after Python.h
#include <opcode.h>

#include <algorithm>
#include <cstdint>
#include <unordered_set>
#include <utility>

namespace opyard::python {

// The word that a code object keeps for us, under an index that the interpreter has given out; 0 at
// first. A code object that is made at the place of an old one begins with 0. With the GIL held.
// Without a call, by how CPython lays the words out: has_known_code_words() is asked first.
struct CodeWords {
  Py_ssize_t count;
  void* words[1];
};
inline std::uintptr_t code_word_unchecked(PyObject* code, Py_ssize_t index) noexcept {
  const auto* const extra =
      static_cast<const CodeWords*>(reinterpret_cast<PyCodeObject*>(code)->co_extra);
  if (extra == nullptr || extra->count <= index) return 0;
  return reinterpret_cast<std::uintptr_t>(extra->words[index]);
}
// False, with an exception set, if there is no memory.
inline bool set_code_word(PyObject* code, Py_ssize_t index, std::uintptr_t word) noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  return PyUnstable_Code_SetExtra(code, index, reinterpret_cast<void*>(word)) == 0;
#else
  return _PyCode_SetExtra(code, index, reinterpret_cast<void*>(word)) == 0;
#endif
}
// An index for this interpreter; -1 if it has no more. There is no way to give one back.
inline Py_ssize_t new_code_word_index() noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  return PyUnstable_Eval_RequestCodeExtraIndex(nullptr);
#else
  return _PyEval_RequestCodeExtraIndex(nullptr);
#endif
}

// Whether this CPython lays out the words of code objects as those do that this was built for.
// False, with an exception set, if there is no memory.
inline bool has_known_code_words(Py_ssize_t index) noexcept {
  auto* const code = reinterpret_cast<PyObject*>(PyCode_NewEmpty("", "", 1));
  if (code == nullptr) return false;
  constexpr std::uintptr_t kWord = 0x5a5a'0001;
  const bool is_known = code_word_unchecked(code, index) == 0 &&
                        set_code_word(code, index, kWord) &&
                        code_word_unchecked(code, index) == kWord;
  Py_DECREF(code);
  return is_known;
}

// The other interpreters of this process, by number. As CPython lists them itself, with the GIL
// alone held: before 3.12 none can come or go meanwhile.
inline void add_other_interpreters(std::unordered_set<std::int64_t>& numbers) {
  const PyInterpreterState* const own = PyInterpreterState_Get();
  for (PyInterpreterState* one = PyInterpreterState_Head(); one != nullptr;
       one = PyInterpreterState_Next(one)) {
    if (one != own) numbers.insert(PyInterpreterState_GetID(one));
  }
}

// "Outer.method" where the code object knows it, else its name; borrowed.
inline PyObject* qualified_name_of(const PyCodeObject* code) noexcept {
#if PY_VERSION_HEX >= 0x030B0000
  return code->co_qualname;
#else
  return code->co_name;
#endif
}

// The code that a frame runs, borrowed from the frame.
inline PyObject* code_of(PyFrameObject* frame) noexcept {
#if PY_VERSION_HEX >= 0x030B0000
  PyCodeObject* const code = PyFrame_GetCode(frame);
  Py_DECREF(code);
  return reinterpret_cast<PyObject*>(code);
#else
  return reinterpret_cast<PyObject*>(frame->f_code);
#endif
}

// The innermost frame of any thread of the interpreter, a new reference; null if it has none, or if
// its state is being made: CPython 3.11 puts it into the list before it is filled in.
inline PyFrameObject* innermost_frame_of(PyThreadState* state) noexcept {
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030D0000
  if (__atomic_load_n(&state->cframe, __ATOMIC_ACQUIRE) == nullptr) return nullptr;
#endif
  return PyThreadState_GetFrame(state);
}

// How many frames are open, with this one; 0 for null.
inline std::uint32_t depth_of(PyFrameObject* frame) noexcept {
  std::uint32_t depth = 0;
  Py_XINCREF(frame);
  while (frame != nullptr) {
    PyFrameObject* const outer = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = outer;
    ++depth;
  }
  return depth;
}

// Whether a thread is within a function that Python has called to tell it of an event: it tells of
// nothing that happens meanwhile.
inline bool is_told_of_nothing(const PyThreadState* state) noexcept { return state->tracing != 0; }

// The first argument of a frame's function, as its variable is now: a new reference; null if there
// is none, or if the variable was deleted. Leaves no exception.
inline PyObject* first_argument_of(PyFrameObject* frame) noexcept {
  PyCodeObject* const code = PyFrame_GetCode(frame);
  const bool has_one = code->co_argcount > 0;
  PyObject* value = nullptr;
#if PY_VERSION_HEX >= 0x030C0000
  PyObject* const names = has_one ? PyCode_GetVarnames(code) : nullptr;
  if (names != nullptr) value = PyFrame_GetVar(frame, PyTuple_GET_ITEM(names, 0));
  Py_XDECREF(names);
#elif PY_VERSION_HEX >= 0x030B0000
  PyObject* const names = has_one ? PyCode_GetVarnames(code) : nullptr;
  PyObject* const locals = names == nullptr ? nullptr : PyFrame_GetLocals(frame);
  if (locals != nullptr) value = PyDict_GetItemWithError(locals, PyTuple_GET_ITEM(names, 0));
  Py_XINCREF(value);
  Py_XDECREF(locals);
  Py_XDECREF(names);
#else
  if (has_one && PyFrame_FastToLocalsWithError(frame) == 0) {
    value = PyDict_GetItemWithError(frame->f_locals, PyTuple_GET_ITEM(code->co_varnames, 0));
    Py_XINCREF(value);
  }
#endif
  Py_DECREF(code);
  if (value == nullptr) clear_or_report(PyExc_Exception);
  return value;
}

// The generator or coroutine that a frame belongs to: a new reference; null if it belongs to none.
inline PyObject* generator_of(PyFrameObject* frame) noexcept {
#if PY_VERSION_HEX >= 0x030B0000
  return PyFrame_GetGenerator(frame);
#else
  Py_XINCREF(frame->f_gen);
  return frame->f_gen;
#endif
}

// Whether an enter of a coroutine's or generator's frame is its first one: it begins, or is thrown
// into before it has begun. False if it cannot be found out. Leaves no exception.
inline bool is_first_entry(PyFrameObject* frame) noexcept {
#if PY_VERSION_HEX >= 0x030B0000
  const int at = PyFrame_GetLasti(frame);
  // The first RESUME is where it begins; what is in front of it makes the coroutine.
  PyCodeObject* const code = PyFrame_GetCode(frame);
  PyObject* const bytes = PyCode_GetCode(code);
  Py_DECREF(code);
  if (bytes == nullptr) {
    clear_or_report(PyExc_Exception);
    return false;
  }
  const char* const instructions = PyBytes_AS_STRING(bytes);
  const Py_ssize_t end =
      std::min<Py_ssize_t>(PyBytes_GET_SIZE(bytes), at);  // none if it is negative
  Py_ssize_t n = 0;
  while (n < end && static_cast<unsigned char>(instructions[n]) != RESUME) n += 2;
  Py_DECREF(bytes);
  return n >= end;
#else
  return frame->f_lasti < 0;
#endif
}

// What a weak reference leads to, borrowed; None once that has died.
inline PyObject* referent_of(PyObject* weak) noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  PyObject* object = nullptr;
  if (PyWeakref_GetRef(weak, &object) < 0) clear_or_report(PyExc_Exception);
  Py_XDECREF(object);  // who asks holds it otherwise, or only compares
  return object == nullptr ? Py_None : object;
#else
  return PyWeakref_GET_OBJECT(weak);
#endif
}

// What the system calls the thread of a state; 0 if Python does not know it.
inline long long native_id_of(const PyThreadState* state) noexcept {
#if PY_VERSION_HEX >= 0x030B0000
  return static_cast<long long>(state->native_thread_id);
#else
  (void)state;
  return 0;
#endif
}

// Whether a frame is at the instruction with which its function begins or goes on. CPython may give
// the GIL away there before it tells of the call: then the call is told of later, or never will be.
// Before 3.11 it tells first. Leaves no exception.
inline bool is_at_entry(PyFrameObject* frame) noexcept {
#if PY_VERSION_HEX >= 0x030B0000
  const int at = PyFrame_GetLasti(frame);
  PyCodeObject* const code = PyFrame_GetCode(frame);
  PyObject* const bytes = at < 0 ? nullptr : PyCode_GetCode(code);
  const bool is = bytes != nullptr && at < PyBytes_GET_SIZE(bytes) &&
                  static_cast<unsigned char>(PyBytes_AS_STRING(bytes)[at]) == RESUME;
  if (at >= 0 && bytes == nullptr) clear_or_report(PyExc_Exception);
  Py_XDECREF(bytes);
  Py_DECREF(code);
  return is;
#else
  (void)frame;
  return false;
#endif
}

#if PY_VERSION_HEX >= 0x030C0000
// Whether CPython tells of the end of a bound method's call at this place, an int as it gives it to
// callbacks of CALL. 3.13 does not if the arguments are unpacked.
inline bool tells_of_end_of_bound_call(PyObject* code, PyObject* place) noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  const char* const instructions = reinterpret_cast<PyCodeObject*>(code)->co_code_adaptive;
  return static_cast<unsigned char>(instructions[PyLong_AsLong(place)]) !=
         INSTRUMENTED_CALL_FUNCTION_EX;
#else
  (void)code;
  (void)place;
  return true;
#endif
}
#endif

// Whether a frame has run nothing of its function yet, or of what a generator does after a yield
// (before 3.11: of generators it is not known). Leaves no exception.
inline bool has_run_nothing(PyFrameObject* frame) noexcept {
#if PY_VERSION_HEX >= 0x030B0000
  return is_at_entry(frame);
#else
  return frame->f_lasti < 0;
#endif
}

#if PY_VERSION_HEX < 0x030C0000
// The profile function of any thread of the interpreter, not only of this one. With the GIL held,
// which it keeps as long as another reference holds what was there: _PyEval_SetProfile() would
// first raise an audit event, within which a hook of the program's lets other threads run, and end.
// The caller raises the event before it looks for threads.
inline void set_profile_function(PyThreadState* state, Py_tracefunc function,
                                 PyObject* argument) noexcept {
  Py_XINCREF(argument);
  PyObject* const former = std::exchange(state->c_profileobj, argument);
  state->c_profilefunc = function;
  const bool traces = function != nullptr || state->c_tracefunc != nullptr;
#if PY_VERSION_HEX >= 0x030B0000
  state->cframe->use_tracing = traces && state->tracing == 0 ? 255 : 0;
#else
  state->cframe->use_tracing = traces ? 1 : 0;
#endif
  Py_XDECREF(former);
}
#endif

}  // namespace opyard::python
