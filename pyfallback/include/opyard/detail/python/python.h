// opyard/detail/python/python.h: Python.h, and the table of CPython versions.
//
// Everything that differs between CPython 3.10 and 3.15 is here under a name of our own; there
// is no PY_VERSION_HEX elsewhere. Include this first: Python.h sets feature macros that the C
// library's headers look at.
//
// Depends on: nothing of ours.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <atomic>
#include <cstdint>

#if PY_VERSION_HEX < 0x030A0000
#error "Opyard's Python plugin needs CPython 3.10 or newer"
#endif

// Whether the tests of this version run on it: see runtime/newer_python.h for one that is newer.
#if PY_VERSION_HEX < 0x03100000
#define OPYARD_KNOWS_THIS_PYTHON 1
#else
#define OPYARD_KNOWS_THIS_PYTHON 0
#endif
#define OPYARD_TESTED_PYTHONS "CPython 3.10 to 3.15"

// Interpreters with a GIL of their own came with 3.12.
#if PY_VERSION_HEX < 0x030C0000
#define OPYARD_INTERPRETERS_SHARE_THE_GIL 1
#else
#define OPYARD_INTERPRETERS_SHARE_THE_GIL 0
#endif

namespace opyard::python {

// Whether there was ever a second interpreter with this module: then a thread may have several
// states.
inline constinit std::atomic<bool> may_have_several_states{false};

// The current thread state, or null if this thread has none or does not hold the GIL. On
// 3.10 and 3.11 it may be the state of another thread, which does: compare before trusting it.
inline PyThreadState* current_thread_state() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return PyThreadState_GetUnchecked();
#else
  return _PyThreadState_UncheckedGet();
#endif
}

// The thread that has closed the main interpreter, which ends it, and its state: Python says that
// it is not there as soon as it begins to take itself apart, and that thread still has work to do
// then.
inline constinit std::atomic<unsigned long> ending_thread{0};
inline constinit std::atomic<PyThreadState*> ending_state{nullptr};

// The thread state with which this thread holds a GIL, of whichever interpreter, or null. Never
// blocks; null once Python is gone.
inline PyThreadState* attached_thread_state() noexcept {
  PyThreadState* const current = current_thread_state();
  if (Py_IsInitialized() == 0) {
    const bool is_ending = current != nullptr && current == ending_state.load() &&
                           ending_thread.load() == PyThread_get_thread_ident();
    return is_ending ? current : nullptr;
  }
#if PY_VERSION_HEX < 0x030C0000
  // There it may be another thread's. A thread knows the first state it had; one that was made for
  // it later, for another interpreter, says whose it is.
  if (current == nullptr || current == PyGILState_GetThisThreadState()) return current;
  if (!may_have_several_states.load(std::memory_order_relaxed)) return nullptr;
  if (current->thread_id != PyThread_get_thread_ident()) return nullptr;
#endif
  return current;
}
inline bool holds_gil() noexcept { return attached_thread_state() != nullptr; }

// The thread state with which this thread let go of a GIL, as far as Python knows it; null if it
// had none. Before 3.12 that is the first one it had.
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

// What a name leads to on a type and its bases, without binding it; borrowed, null if there is
// nothing. With no exception set: it would be lost. CPython keeps the answers in a cache of its
// own.
inline PyObject* lookup_on_type(PyTypeObject* type, PyObject* name) noexcept {
  return _PyType_Lookup(type, name);
}

// Makes an object again, with one reference, of memory that still has its type and its reference to
// that.
inline void revive(PyObject* memory) noexcept {
#ifdef Py_REF_DEBUG
  _Py_NewReference(memory);  // which a debug build counts
#elif defined(Py_GIL_DISABLED)
  memory->ob_tid = _Py_ThreadId();  // whose count it is
  memory->ob_ref_local = 1;
  memory->ob_ref_shared = 0;
#else
  Py_SET_REFCNT(memory, 1);
#endif
}

// Lets the finaliser of an object that the collector can see run again: Python calls it once in
// an object's life, and notes that in the last bit of the second word in front of it.
inline void clear_finalized(PyObject* object) noexcept {
#ifdef Py_GIL_DISABLED
  constexpr std::uint8_t kFinalized = 2;  // _PyGC_BITS_FINALIZED: nothing is in front of objects
  __atomic_fetch_and(&object->ob_gc_bits, std::uint8_t(~kFinalized), __ATOMIC_RELAXED);
#else
  reinterpret_cast<uintptr_t*>(object)[-1] &= ~uintptr_t{1};
#endif
}

// Lets calls of a class's instances go to the vectorcall function that its base of C keeps in them.
// Before 3.12 a class of Python does not inherit that; one that has a __call__ of its own never
// does.
inline void inherit_vectorcall(PyTypeObject* type) noexcept {
#if PY_VERSION_HEX < 0x030C0000
  if (type->tp_call == PyVectorcall_Call) type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
#else
  (void)type;
#endif
}

// A number that changes whenever the type or a base of it does, and that no other type has had
// since CPython began to count; 0 if the type has none at present. Looking a name up gives it
// one, as long as there are numbers left. Ask type_version() of runtime/runtime.h, which knows
// about counting anew.
inline unsigned tag_of_type(const PyTypeObject* type) noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return type->tp_version_tag;  // 0 where there is none: the flag is never set any more
#else
  return (type->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG) != 0 ? type->tp_version_tag : 0;
#endif
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

}  // namespace opyard::python
