// runtime/newer_python.cpp: layout checks of CPython: objects, types, thread states, code objects.
#include "runtime/newer_python.h"

#include "opyard/detail/python/traced_python.h"
#include "runtime/errors.h"
#include "runtime/owned.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

void finalize_nothing(PyObject*) {}
int traverse_class(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return 0;
}
void free_instance(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

// A class of its own, with a finaliser; null if there is no memory.
Owned new_class() noexcept {
  PyType_Slot slots[] = {{Py_tp_finalize, slot(finalize_nothing)},
                         {Py_tp_traverse, slot(traverse_class)},
                         {Py_tp_dealloc, slot(free_instance)},
                         {0, nullptr}};
  PyType_Spec spec{"opyard._Probe", int(sizeof(PyObject)), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE, slots};
  return Owned::steal(PyType_FromSpec(&spec));
}

bool objects_have_known_sizes() noexcept {
  return PyBaseObject_Type.tp_basicsize == Py_ssize_t(sizeof(PyObject)) &&
         PyType_Type.tp_basicsize == Py_ssize_t(sizeof(PyHeapTypeObject)) &&
         PyTuple_Type.tp_itemsize == Py_ssize_t(sizeof(PyObject*));
}

bool thread_states_are_found() noexcept {
  return current_thread_state() == PyThreadState_Get() &&
         attached_thread_state() == PyThreadState_Get();
}

bool names_are_found_on_types() noexcept {
  const Owned name = Owned::steal(PyUnicode_InternFromString("append"));
  return name && lookup_on_type(&PyList_Type, name.get()) != nullptr &&
         lookup_on_type(&PyTuple_Type, name.get()) == nullptr;
}

// A type that changes has another version, and no two have the same.
bool versions_of_types_change() noexcept {
  const Owned first = new_class();
  const Owned second = new_class();
  const Owned name = Owned::steal(PyUnicode_InternFromString("opyard_probe"));
  if (!first || !second || !name) return false;
  auto* const type = reinterpret_cast<PyTypeObject*>(first.get());
  auto* const other = reinterpret_cast<PyTypeObject*>(second.get());
  lookup_on_type(type, name.get());
  lookup_on_type(other, name.get());
  const unsigned before = tag_of_type(type);
  if (before == 0 || before == tag_of_type(other)) return false;
  if (PyObject_SetAttr(first.get(), name.get(), Py_None) < 0) return false;
  if (lookup_on_type(type, name.get()) != Py_None) return false;
  return tag_of_type(type) != before;
}

bool finalised_objects_can_live_again() noexcept {
  const Owned made = new_class();
  if (!made) return false;
  auto* const type = reinterpret_cast<PyTypeObject*>(made.get());
  const Owned object = Owned::steal(PyType_GenericAlloc(type, 0));
  if (!object || PyObject_GC_IsFinalized(object.get()) != 0) return false;
  PyObject_CallFinalizer(object.get());
  if (PyObject_GC_IsFinalized(object.get()) == 0) return false;
  clear_finalized(object.get());
  return PyObject_GC_IsFinalized(object.get()) == 0 && PyObject_GC_IsTracked(object.get()) != 0;
}

bool words_of_code_are_kept() noexcept {
  const Py_ssize_t index = new_code_word_index();
  return index >= 0 && has_known_code_words(index);
}

struct LayoutCheck {
  const char* name;
  bool (*holds)() noexcept;
};
constexpr LayoutCheck kChecks[] = {
    {"the sizes of objects and types", objects_have_known_sizes},
    {"the thread's state", thread_states_are_found},
    {"looking a name up on a type", names_are_found_on_types},
    {"the version of a type", versions_of_types_change},
    {"the finaliser's mark", finalised_objects_can_live_again},
    {"the words of code objects", words_of_code_are_kept},
};

}  // namespace

const char* failed_layout_check() noexcept {
  for (const LayoutCheck& check : kChecks) {
    if (!check.holds()) return check.name;
  }
  return nullptr;
}

void meet_newer_python(const char* failed) {
  if (failed != nullptr) {
    PyObject* const cause = take_exception();
    PyErr_Format(PyExc_ImportError,
                 "opyard is tested with " OPYARD_TESTED_PYTHONS
                 ", and cannot work on this %s: %s is not "
                 "what it relies on. Use a tested version, or an Opyard that knows this one",
                 PY_VERSION, failed);
    PyObject* const raised = take_exception();
    PyException_SetCause(raised, cause);
    restore_exception(raised);
    throw PythonErrorSet();
  }
  if (PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                       "opyard is tested with " OPYARD_TESTED_PYTHONS
                       ", and this is %s: its layout is "
                       "the expected one, and nothing else was tried",
                       PY_VERSION) < 0) {
    throw PythonErrorSet();
  }
}

}  // namespace opyard::python
