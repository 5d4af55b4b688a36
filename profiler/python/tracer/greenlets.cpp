// tracer/greenlets.cpp: switches between greenlets as events.
#include "tracer/greenlets.h"

#include "opyard/detail/python/clear.h"
#include "opyard/profiler/session.h"
#include "opyard/profiler/stream.h"
#include "tracer/attributes.h"
#include "tracer/border.h"

namespace opyard::python {
namespace {

void capture_switch(PyObject* origin, PyObject* target) noexcept {
  if (!profiler::Session::is_active()) return;
  profiler::Stream* const stream = profiler::Stream::current();
  if (stream == nullptr) return;
  const profiler::Payload words{reinterpret_cast<std::uintptr_t>(origin),
                                reinterpret_cast<std::uintptr_t>(target)};
  stream->append(event_of(profiler::MarkKind::Switch), 0, 0, &words, 1);
}

// (event, (origin, target)), when the target runs already.
PyObject* on_switch(PyObject* former, PyObject* args) {
  PyObject* event = nullptr;
  PyObject* origin = nullptr;
  PyObject* target = nullptr;
  if (PyArg_ParseTuple(args, "O(OO)", &event, &origin, &target) != 0) {
    capture_switch(origin, target);
  } else {
    clear_or_report(PyExc_Exception);  // of another kind than those that are known
  }
  return former == Py_None ? Py_NewRef(Py_None) : PyObject_CallObject(former, args);
}

PyMethodDef switch_hook = {"on_switch", on_switch, METH_VARARGS,
                           "on_switch(event, (origin, target)), for greenlet.settrace()"};

bool is_our_hook(PyObject* function) {
  return PyCFunction_Check(function) &&
         reinterpret_cast<PyCFunctionObject*>(function)->m_ml == &switch_hook;
}

// A new reference; null if no one has imported it.
PyObject* greenlet_package() {
  PyObject* const name = PyUnicode_InternFromString("greenlet");
  PyObject* const found = name == nullptr ? nullptr : PyImport_GetModule(name);
  Py_XDECREF(name);
  return found;
}

void set_switch_hook(PyObject* package, PyObject* function) {
  const HeldObject done(call_method(package, "settrace", function));
}

// Visits the package and the function that it tells of switches.
template <typename Visit>
void with_switch_hook(const Visit& visit) noexcept {
  PyObject* const pending = take_exception();
  if (const HeldObject package(greenlet_package()); package != nullptr) {
    const HeldObject now(call_method(package.get(), "gettrace"));
    if (now != nullptr) visit(package.get(), now.get());
  }
  clear_or_report(PyExc_Exception);
  if (pending != nullptr) restore_exception(pending);
}

}  // namespace

void watch_greenlets() noexcept {
  with_switch_hook([](PyObject* package, PyObject* now) {
    if (is_our_hook(now)) return;
    const HeldObject ours(PyCFunction_New(&switch_hook, now));
    if (ours != nullptr) set_switch_hook(package, ours.get());
  });
}

void forget_greenlets() noexcept {
  with_switch_hook([](PyObject* package, PyObject* now) {
    if (!is_our_hook(now)) return;
    set_switch_hook(package, PyCFunction_GET_SELF(now));
  });
}

}  // namespace opyard::python
