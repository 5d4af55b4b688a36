// runtime/python.h: the one place that includes Python.h, and the one table of CPython versions.
//
// Everything that differs between CPython 3.10 and 3.13 is here under a name of our own; there
// is no PY_VERSION_HEX elsewhere. Include this first: Python.h sets feature macros that the C
// library's headers look at.
//
// Depends on: nothing of ours.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <frameobject.h>  // after Python.h

#include <atomic>
#include <cstdint>

#if PY_VERSION_HEX < 0x030A0000 || PY_VERSION_HEX >= 0x030E0000
#error "Opyard's Python plugin knows CPython 3.10 to 3.13"
#endif

// Interpreters with a GIL of their own came with 3.12.
#if PY_VERSION_HEX < 0x030C0000
#define OPYARD_INTERPRETERS_SHARE_THE_GIL 1
#else
#define OPYARD_INTERPRETERS_SHARE_THE_GIL 0
#endif

namespace opyard::python {

// Whether there was ever a second interpreter with this module: then a thread may have several states.
inline constinit std::atomic<bool> may_have_several_states{false};

// The current thread state, or null where this thread has none or does not hold the GIL. On
// 3.10 and 3.11 it may be the state of another thread, which does: compare before trusting it.
inline PyThreadState* current_thread_state() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return PyThreadState_GetUnchecked();
#else
  return _PyThreadState_UncheckedGet();
#endif
}

// The thread that has closed the main interpreter, which ends it, and its state: Python says that it is not there as
// soon as it begins to take itself apart, and that thread still has work to do then.
inline constinit std::atomic<unsigned long> ending_thread{0};
inline constinit std::atomic<PyThreadState*> ending_state{nullptr};

// The thread state with which this thread holds a GIL, of whichever interpreter, or null. Never blocks;
// null once Python is gone.
inline PyThreadState* attached_thread_state() noexcept {
  PyThreadState* const current = current_thread_state();
  if (Py_IsInitialized() == 0) {
    const bool is_ending = current != nullptr && current == ending_state.load() &&
                           ending_thread.load() == PyThread_get_thread_ident();
    return is_ending ? current : nullptr;
  }
#if PY_VERSION_HEX < 0x030C0000
  // There it may be another thread's. A thread knows the first state it had; one that was made for it
  // later, for another interpreter, says whose it is.
  if (current == nullptr || current == PyGILState_GetThisThreadState()) return current;
  if (!may_have_several_states.load(std::memory_order_relaxed)) return nullptr;
  if (current->thread_id != PyThread_get_thread_ident()) return nullptr;
#endif
  return current;
}
inline bool holds_gil() noexcept { return attached_thread_state() != nullptr; }

// The thread state with which this thread let go of a GIL, as far as Python knows it; null where it had
// none. Before 3.12 that is the first one it had.
inline PyThreadState* known_thread_state() noexcept {
  return Py_IsInitialized() == 0 ? nullptr : PyGILState_GetThisThreadState();
}
#if PY_VERSION_HEX >= 0x030C0000
inline constexpr bool kKnowsLastThreadState = true;
#else
inline constexpr bool kKnowsLastThreadState = false;
#endif

// Whether the interpreter is being torn down. With the GIL held.
inline bool is_finalizing() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

// What a name leads to on a type and its bases, without binding it; borrowed, null where there is
// nothing. With no exception set: it would be lost. CPython keeps the answers in a cache of its own.
inline PyObject* lookup_on_type(PyTypeObject* type, PyObject* name) noexcept {
  return _PyType_Lookup(type, name);
}

// Makes an object again, with one reference, of memory that kept its type and its reference to that.
inline void revive(PyObject* memory) noexcept {
#ifdef Py_REF_DEBUG
  _Py_NewReference(memory);  // which a debug build counts
#else
  Py_SET_REFCNT(memory, 1);
#endif
}

// Lets the finaliser of an object that the collector can see run once more: Python calls it once in an
// object's life, and notes that in the last bit of the second word in front of it.
inline void clear_finalized(PyObject* object) noexcept {
  reinterpret_cast<uintptr_t*>(object)[-1] &= ~uintptr_t{1};
}

// Lets calls of a class's instances go to the vectorcall function that its base of C keeps in them. Before
// 3.12 a class of Python does not inherit that; one that has a __call__ of its own never does.
inline void inherit_vectorcall(PyTypeObject* type) noexcept {
#if PY_VERSION_HEX < 0x030C0000
  if (type->tp_call == PyVectorcall_Call) type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
#else
  (void)type;
#endif
}

// A number that changes whenever the type or a base of it does, and that no other type has had since CPython
// began to count; 0 where the type has none at present. Looking a name up gives it one, as long as there are
// numbers left. Ask type_version() of runtime/runtime.h, which knows about counting anew.
inline unsigned tag_of_type(const PyTypeObject* type) noexcept {
  return (type->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG) != 0 ? type->tp_version_tag : 0;
}

// Whether sys._clear_type_cache() takes the number of each type away and begins to count anew.
#if PY_VERSION_HEX < 0x030B0000
inline constexpr bool kTypeTagsComeAgain = true;
#else
inline constexpr bool kTypeTagsComeAgain = false;
#endif

// Takes the exception that is set, normalised and with its traceback attached; null where
// none is set. The inverse is PyErr_SetRaisedException's job, under restore_exception().
inline PyObject* take_exception() noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  return PyErr_GetRaisedException();
#else
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  if (type == nullptr) return nullptr;
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return value;
#endif
}

// Sets an exception object as the current one; takes over the reference.
inline void restore_exception(PyObject* exception) noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  PyErr_SetRaisedException(exception);
#else
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(exception));
  Py_INCREF(type);
  PyErr_Restore(type, exception, PyException_GetTraceback(exception));
#endif
}

// The word that a code object keeps for us, under an index that the interpreter has given out; 0 at first. A code
// object that is made at the place of an old one begins with 0. With the GIL held.
inline std::uintptr_t code_word(PyObject* code, Py_ssize_t index) noexcept {
  void* word = nullptr;
#if PY_VERSION_HEX >= 0x030C0000
  if (PyUnstable_Code_GetExtra(code, index, &word) < 0) PyErr_Clear();
#else
  if (_PyCode_GetExtra(code, index, &word) < 0) PyErr_Clear();
#endif
  return reinterpret_cast<std::uintptr_t>(word);
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

// "Outer.method" where the code object knows it, else its name; borrowed.
inline PyObject* qualified_name_of(const PyCodeObject* code) noexcept {
#if PY_VERSION_HEX >= 0x030B0000
  return code->co_qualname;
#else
  return code->co_name;
#endif
}

// The first argument of a frame's function, as its variable is now: a new reference; null if there is none, or
// if the variable was deleted. Leaves no exception.
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
  if (value == nullptr) PyErr_Clear();
  return value;
}

// What a weak reference leads to, borrowed; None once that has died.
inline PyObject* referent_of(PyObject* weak) noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  PyObject* object = nullptr;
  if (PyWeakref_GetRef(weak, &object) < 0) PyErr_Clear();
  Py_XDECREF(object);  // who asks holds it otherwise, or only compares
  return object == nullptr ? Py_None : object;
#else
  return PyWeakref_GET_OBJECT(weak);
#endif
}

// What the system calls the thread of a state; 0 where Python does not know it.
inline long long native_id_of(const PyThreadState* state) noexcept {
#if PY_VERSION_HEX >= 0x030B0000
  return static_cast<long long>(state->native_thread_id);
#else
  (void)state;
  return 0;
#endif
}

#if PY_VERSION_HEX < 0x030C0000
// The profile function of any thread of the interpreter, not only of this one. With the GIL held.
inline int set_profile_function(PyThreadState* state, Py_tracefunc function, PyObject* argument) {
  return _PyEval_SetProfile(state, function, argument);
}
#endif

}  // namespace opyard::python
