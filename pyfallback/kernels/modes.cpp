// kernels/modes.cpp: entering and leaving modes.
#include "kernels/modes.h"

#include <algorithm>
#include <memory>

#include "opyard/thread/modes.h"
#include "runtime/errors.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

ModePtr make_mode(Runtime& runtime, PyObject* object, long place) {
  if (place < 0 || place > long(ModePlace::User)) {
    fail(ErrorKind::BadValue, "a mode has no place " + std::to_string(place));
  }
  return make_counted<Mode>(InterpreterObject::steal(runtime.tag, Py_NewRef(object)),
                            ModePlace(place));
}

PyObject* mode_object(const Runtime& runtime, const Mode& mode) {
  return static_cast<PyObject*>(mode.handler().object(runtime.tag));
}

Owned list_of(const Runtime& runtime, const std::vector<ModePtr>& modes) {
  Owned list = checked(PyList_New(Py_ssize_t(modes.size())));
  for (std::size_t i = 0; i < modes.size(); ++i) {
    PyList_SET_ITEM(
        list.get(), Py_ssize_t(i),
        checked(Py_BuildValue("Oi", mode_object(runtime, *modes[i]), int(modes[i]->place())))
            .release());
  }
  return list;
}

// push_mode(mode, place)
PyObject* push(PyObject* module, PyObject* args) {
  return enter_from_python([&]() -> PyObject* {
    PyObject* object = nullptr;
    long place = 0;
    if (PyArg_ParseTuple(args, "Ol", &object, &place) == 0) throw PythonErrorSet();
    push_mode(make_mode(runtime_of_module(module), object, place));
    Py_RETURN_NONE;
  });
}

// pop_mode() -> (mode, place)
PyObject* pop(PyObject* module, PyObject*) {
  return enter_from_python([&] {
    const Runtime& runtime = runtime_of_module(module);
    const std::vector<ModePtr>& modes = thread_modes();
    Owned popped;  // made first: without memory the mode stays
    if (!modes.empty()) {
      const Mode& innermost = *modes.back();
      popped =
          checked(Py_BuildValue("Oi", mode_object(runtime, innermost), int(innermost.place())));
    }
    const ModePtr mode = pop_mode();
    return popped.release();
  });
}

// leave_mode(mode): takes its innermost entry away; False if it has none.
PyObject* leave_mode(PyObject*, PyObject* object) {
  return enter_from_python([&]() -> PyObject* {
    const std::vector<ModePtr>& modes = thread_modes();
    for (std::size_t i = modes.size(); i-- > 0;) {
      if (modes[i]->handler().address() != object) continue;
      const ModePtr mode = remove_mode(i);
      Py_RETURN_TRUE;
    }
    Py_RETURN_FALSE;
  });
}

// modes() -> [(mode, place)], outermost first
PyObject* list_modes(PyObject* module, PyObject*) {
  return enter_from_python(
      [&] { return list_of(runtime_of_module(module), thread_modes()).release(); });
}

// exchange_modes([(mode, place)]) -> the former ones
PyObject* exchange(PyObject* module, PyObject* argument) {
  return enter_from_python([&] {
    Runtime& runtime = runtime_of_module(module);
    const Owned items = checked(PySequence_Fast(argument, "modes are given as a list"));
    std::vector<ModePtr> fresh;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
      PyObject* const item = PySequence_Fast_GET_ITEM(items.get(), i);
      if (!PyTuple_Check(item)) {
        fail(ErrorKind::BadArgument,
             std::string("a mode is given with its place, as (mode, place), not as a ") +
                 Py_TYPE(item)->tp_name);
      }
      PyObject* object = nullptr;
      long place = 0;
      if (PyArg_ParseTuple(item, "Ol", &object, &place) == 0) {
        throw PythonErrorSet();
      }
      fresh.push_back(make_mode(runtime, object, place));
    }
    Owned former = list_of(runtime, thread_modes());
    const std::vector<ModePtr> dropped = exchange_modes(std::move(fresh));
    return former.release();
  });
}

// set_modes_aside(left) -> (capsule, the former ones): leaves the outermost `left` of this thread's
// modes, or with -1 all but the innermost.
constexpr const char* kAside = "opyard.modes_aside";
std::vector<ModePtr>& aside_of(PyObject* capsule) {
  auto* const modes = static_cast<std::vector<ModePtr>*>(PyCapsule_GetPointer(capsule, kAside));
  if (modes == nullptr) throw PythonErrorSet();
  return *modes;
}
void drop_aside(PyObject* capsule) {
  delete static_cast<std::vector<ModePtr>*>(PyCapsule_GetPointer(capsule, kAside));
}
PyObject* set_aside(PyObject* module, PyObject* argument) {
  return enter_from_python([&] {
    const long given = PyLong_AsLong(argument);
    if (given == -1 && PyErr_Occurred() != nullptr) throw PythonErrorSet();
    const std::vector<ModePtr>& modes = thread_modes();
    if (given < 0 && modes.empty()) static_cast<void>(pop_mode());  // raises
    const std::size_t left =
        given < 0 ? modes.size() - 1 : std::min(std::size_t(given), modes.size());
    const Owned former = list_of(runtime_of_module(module), modes);
    auto aside = std::make_unique<std::vector<ModePtr>>();
    std::vector<ModePtr>& held = *aside;
    const Owned capsule = checked(PyCapsule_New(aside.get(), kAside, drop_aside));
    static_cast<void>(aside.release());
    Owned both = checked(PyTuple_Pack(2, capsule.get(), former.get()));
    held = exchange_modes({modes.begin(), modes.begin() + std::ptrdiff_t(left)});
    return both.release();
  });
}

// give_modes_back(capsule): those that were set aside take the place of the thread's. Needs no
// memory.
PyObject* give_back(PyObject*, PyObject* capsule) {
  return enter_from_python([&]() -> PyObject* {
    const std::vector<ModePtr> dropped = exchange_modes(std::move(aside_of(capsule)));
    Py_RETURN_NONE;
  });
}

}  // namespace

PyMethodDef mode_functions[] = {
    {"push_mode", push, METH_VARARGS, "push_mode(mode, place)"},
    {"pop_mode", pop, METH_NOARGS, "pop_mode() -> (mode, place)"},
    {"leave_mode", leave_mode, METH_O, "leave_mode(mode) -> bool"},
    {"modes", list_modes, METH_NOARGS, "modes() -> [(mode, place)]"},
    {"exchange_modes", exchange, METH_O, "exchange_modes([(mode, place)]) -> the former ones"},
    {"set_modes_aside", set_aside, METH_O,
     "set_modes_aside(left) -> (capsule, the former ones); -1 leaves all but the innermost"},
    {"give_modes_back", give_back, METH_O, "give_modes_back(capsule)"},
    {nullptr, nullptr, 0, nullptr}};

void leave_modes_of(const Runtime& runtime) noexcept {
  const std::vector<ModePtr>& modes = thread_modes();
  for (std::size_t i = modes.size(); i-- > 0;) {
    if (modes[i]->handler().tag() != runtime.tag) continue;
    const ModePtr left = remove_mode(i);
  }
}

}  // namespace opyard::python
