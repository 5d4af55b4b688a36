// tracer/observers.cpp: operator call observers in Python.
//
// [Life] An observer belongs to the thread that begins it, and is in the chain of its guards until
// it ends. A call that is on its way holds pointers into that chain, so an observer that was told
// of a call's begin cannot end before it was told of its end.
//
// [Dropped] What holds an observer in Python holds its functions; here they are borrowed. When that
// is dropped, on whichever thread and perhaps within a call, the observer is told of nothing more,
// and is taken out when its turn in the chain has come: at the next begin or end of an observer on
// its thread, or with that.
//
// [End of a thread] CPython clears the dict of a thread's state on that thread, so a capsule there
// ends what the thread began and did not end, and warns. Its handles lose their name, by which
// other threads see that it has ended. At the end of the process all stays as it is.
#include "tracer/observers.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "opyard/base/error.h"
#include "opyard/detail/python/look_up.h"
#include "opyard/detail/python/traced_python.h"
#include "opyard/observe/observer.h"
#include "opyard/python.h"
#include "opyard/registry/operator.h"
#include "opyard/value/stack.h"
#include "tracer/border.h"

namespace opyard::python {
namespace {

constexpr const char* kHandle = "opyard.observer";
constexpr const char* kEndedHandle = "opyard.observer, ended";
constexpr const char* kThread = "opyard.observers of a thread";

struct ObserverOptions {
  PyObject* on_enter = nullptr;  // borrowed; None for none, see [Dropped]
  PyObject* on_exit = nullptr;
  int inputs = 0;
  int outputs = 0;
  double probability = 1;
};

class PythonObserver final : public Observer {
 public:
  PythonObserver(const PythonTable& table, const ObserverOptions& options)
      : table_(table), options_(options) {}
  ~PythonObserver() override = default;
  PythonObserver(const PythonObserver&) = delete;
  PythonObserver& operator=(const PythonObserver&) = delete;

  bool wants_values() const noexcept override {
    return on && (options_.inputs != 0 || options_.outputs != 0);
  }

  void on_enter(const Operator& op, DispatchKeySet keys, const Stack* arguments) noexcept override {
    try {
      contexts_.push_back(nullptr);
    } catch (const std::bad_alloc&) {
      ++untold_;
      return;
    }
    if (!on || !is_drawn()) return;
    in_python([&] { contexts_.back() = enter(op, keys, arguments); });
  }

  void on_exit(const Operator& op, bool threw, const Stack* results) noexcept override {
    if (untold_ != 0) {
      --untold_;
      return;
    }
    if (contexts_.empty()) return;  // of a call that began before
    if (PyObject* const context = contexts_.back()) {
      in_python([&] {
        exit(op, context, threw, results);
        Py_DECREF(context);
      });
    }
    contexts_.pop_back();
  }

  // Whether a call that it was told of has not ended.
  bool is_inside() const noexcept { return !contexts_.empty() || untold_ != 0; }

  // With the GIL: its functions may go.
  void drop() noexcept {
    on = false;
    is_dropped_ = true;
    options_.on_enter = options_.on_exit = Py_None;
  }
  bool is_dropped() const noexcept { return is_dropped_; }

  std::atomic<bool> on = true;

 private:
  // What on_enter gave, None without one.
  PyObject* enter(const Operator& op, DispatchKeySet keys, const Stack* arguments) {
    const HeldObject function(Py_NewRef(options_.on_enter));  // see [Dropped]
    if (function.get() == Py_None) return Py_NewRef(Py_None);
    PyObject* const op_object = to_object(table_, op);
    PyObject* const keys_object = table_.wrap_keys(&table_, keys.raw());
    PyObject* const values = options_.inputs != 0 && arguments != nullptr
                                 ? tuple_of(op.schema().arguments, *arguments)
                                 : Py_NewRef(Py_None);
    PyObject* const context =
        PyObject_CallFunctionObjArgs(function.get(), op_object, keys_object, values, nullptr);
    Py_DECREF(op_object);
    Py_XDECREF(keys_object);
    Py_DECREF(values);
    if (context != nullptr) return context;
    PyErr_WriteUnraisable(function.get());
    return Py_NewRef(Py_None);
  }

  void exit(const Operator& op, PyObject* context, bool threw, const Stack* results) {
    const HeldObject function(Py_NewRef(options_.on_exit));  // see [Dropped]
    if (function.get() == Py_None) return;
    PyObject* const op_object = to_object(table_, op);
    PyObject* const values = options_.outputs != 0 && results != nullptr
                                 ? tuple_of(op.schema().results, *results)
                                 : Py_NewRef(Py_None);
    PyObject* const result = PyObject_CallFunctionObjArgs(
        function.get(), op_object, context, threw ? Py_True : Py_False, values, nullptr);
    Py_DECREF(op_object);
    Py_DECREF(values);
    if (result == nullptr) PyErr_WriteUnraisable(function.get());
    Py_XDECREF(result);
  }

  template <typename Arguments>
  PyObject* tuple_of(const Arguments& arguments, const Stack& stack) const {
    // A stack gives its values to be changed only; these are read.
    const auto values = const_cast<Stack&>(stack).top(arguments.size());
    PyObject* const tuple = require_object(table_, PyTuple_New(Py_ssize_t(values.size())));
    for (std::size_t n = 0; n < values.size(); ++n) {
      PyObject* const object = table_.from_value(&table_, &*arguments[n].type, &values[n]);
      if (object == nullptr) {
        Py_DECREF(tuple);
        throw_python_exception(table_);
      }
      PyTuple_SET_ITEM(tuple, Py_ssize_t(n), object);
    }
    return tuple;
  }

  // With the GIL, and with the exception that is on its way put aside. Nothing if Python has ended,
  // or if this thread is in another interpreter.
  template <typename Body>
  void in_python(const Body& body) noexcept {
    try {
      const HoldPython python(table_);
      PyObject* const former = take_exception();
      try {
        body();
      } catch (const Error& error) {
        table_.raise(&table_, &error);
        PyErr_WriteUnraisable(nullptr);
      }
      if (former != nullptr) restore_exception(former);
    } catch (const Error&) {
    }
  }

  // xorshift64*: https://doi.org/10.18637/jss.v008.i14
  bool is_drawn() noexcept {
    if (options_.probability >= 1) return true;
    random_ ^= random_ >> 12;
    random_ ^= random_ << 25;
    random_ ^= random_ >> 27;
    const std::uint64_t number = random_ * 0x2545F4914F6CDD1Dull;
    return double(number >> 11) * 0x1p-53 < options_.probability;
  }

  const PythonTable& table_;
  ObserverOptions options_;
  bool is_dropped_ = false;  // with the GIL
  std::vector<PyObject*>
      contexts_;              // of each call inside; null for one that Python was not told of
  std::uint64_t untold_ = 0;  // calls inside for which there was no memory
  std::uint64_t random_ = 0x9E3779B97F4A7C15ull;
};

struct ObserversOfThread;

struct Installed {
  Installed(const PythonTable& table, const ObserverOptions& options)
      : observer(table, options), guard(observer) {}
  PythonObserver observer;
  const ObserverGuard guard;
  const std::thread::id thread = std::this_thread::get_id();
  ObserversOfThread* list = nullptr;
  PyObject* handle = nullptr;
};

struct ObserversOfThread {
  const PythonTable& table;  // of the thread's interpreter
  const std::thread::id thread = std::this_thread::get_id();
  std::vector<Installed*> observers;  // the innermost last
};

bool may_end(const Installed& installed) {
  return !installed.observer.is_inside() && ObserverGuard::innermost() == &installed.guard;
}

void end(Installed* installed) {
  if (installed->list != nullptr) std::erase(installed->list->observers, installed);
  PyObject* const handle = installed->handle;
  static_cast<void>(PyCapsule_SetName(handle, kEndedHandle));
  delete installed;
  Py_DECREF(handle);
}

// See [Dropped].
void end_dropped(const ObserversOfThread& list) {
  const auto& all = list.observers;
  while (!all.empty() && all.back()->observer.is_dropped() && may_end(*all.back())) {
    end(all.back());
  }
}

// See [End of a thread].
void end_thread(PyObject* capsule) {
  auto* const list = static_cast<ObserversOfThread*>(PyCapsule_GetPointer(capsule, kThread));
  if (list->observers.empty()) {  // then nothing leads to it
    delete list;
    return;
  }
  if (is_finalizing() || list->thread != std::this_thread::get_id()) return;
  PyObject* const former = take_exception();
  bool has_ended_any = false;
  while (!list->observers.empty() && may_end(*list->observers.back())) {
    end(list->observers.back());
    has_ended_any = true;
  }
  for (Installed* const left : list->observers) left->list = nullptr;
  delete list;
  constexpr const char* kText =
      "an observer was not stopped on the thread that began it, and ended with that thread; use "
      "`with observe(...)`, or call stop() there";
  if (has_ended_any && PyErr_WarnEx(PyExc_RuntimeWarning, kText, 1) != 0) {
    PyErr_WriteUnraisable(nullptr);
  }
  if (former != nullptr) restore_exception(former);
}

ObserversOfThread& observers_of_thread() {
  PyObject* const dict = PyThreadState_GetDict();  // borrowed
  OPYARD_CHECK(dict != nullptr, Unsupported, "this thread has no place to keep an observer");
  if (PyObject* const known = find_item(dict, kThread)) {
    return *static_cast<ObserversOfThread*>(PyCapsule_GetPointer(known, kThread));
  }
  if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
  const PythonTable* const table = import_python_table();
  if (table == nullptr) throw PythonErrorSet();
  auto list =
      std::unique_ptr<ObserversOfThread>(new ObserversOfThread{.table = *table, .observers = {}});
  PyObject* const capsule = checked_new(PyCapsule_New(list.get(), kThread, nullptr));
  const int failed = PyDict_SetItemString(dict, kThread, capsule);
  if (failed == 0) static_cast<void>(PyCapsule_SetDestructor(capsule, end_thread));
  Py_DECREF(capsule);
  if (failed != 0) throw PythonErrorSet();
  return *list.release();
}

Installed& installed_of(PyObject* handle) {
  OPYARD_CHECK(PyCapsule_IsValid(handle, kEndedHandle) == 0, Unsupported,
               "the observer has ended with the thread that began it");
  auto* const found = static_cast<Installed*>(PyCapsule_GetPointer(handle, kHandle));
  if (found == nullptr) throw PythonErrorSet();
  OPYARD_CHECK(found->thread == std::this_thread::get_id(), Unsupported,
               "an observer belongs to the thread that began it, and this is another one");
  return *found;
}

// The handle is the list's only item, before an interrupt can come: see [Dropped].
PyObject* begin_observer(PyObject*, PyObject* args) {
  return enter_tracer([&]() -> PyObject* {
    ObserverOptions options;
    PyObject* kept = nullptr;
    if (PyArg_ParseTuple(args, "O!OOppd", &PyList_Type, &kept, &options.on_enter, &options.on_exit,
                         &options.inputs, &options.outputs, &options.probability) == 0) {
      throw PythonErrorSet();
    }
    ObserversOfThread& list = observers_of_thread();
    end_dropped(list);
    list.observers.reserve(list.observers.size() + 1);
    auto installed = std::make_unique<Installed>(list.table, options);
    PyObject* const handle = checked_new(PyCapsule_New(installed.get(), kHandle, nullptr));
    if (PyList_Append(kept, handle) != 0) {
      Py_DECREF(handle);
      throw PythonErrorSet();
    }
    installed->handle = handle;
    installed->list = &list;
    list.observers.push_back(installed.release());
    Py_RETURN_NONE;
  });
}

PyObject* set_observer(PyObject*, PyObject* args) {
  return enter_tracer([&]() -> PyObject* {
    PyObject* handle = nullptr;
    int on = 0;
    if (PyArg_ParseTuple(args, "Op", &handle, &on) == 0) throw PythonErrorSet();
    installed_of(handle).observer.on = on != 0;
    Py_RETURN_NONE;
  });
}

// See [Life].
PyObject* end_observer(PyObject*, PyObject* handle) {
  return enter_tracer([&]() -> PyObject* {
    Installed& installed = installed_of(handle);
    ObserversOfThread* const list = installed.list;
    if (list != nullptr) end_dropped(*list);
    OPYARD_CHECK(!installed.observer.is_inside(), Unsupported,
                 "an observer cannot end within a call that it was told of; end it afterwards, or "
                 "disable() it");
    OPYARD_CHECK(ObserverGuard::innermost() == &installed.guard, Unsupported,
                 "observers end in the opposite order of their beginning, and one that began later "
                 "is still there; opyard.profiler.active_observers() has those of this thread");
    end(&installed);
    if (list != nullptr) end_dropped(*list);
    Py_RETURN_NONE;
  });
}

// Whether it was on. See [Dropped].
PyObject* drop_observer(PyObject*, PyObject* handle) {
  return enter_tracer([&]() -> PyObject* {
    if (PyCapsule_IsValid(handle, kHandle) == 0 || is_finalizing()) Py_RETURN_FALSE;
    Installed& installed = *static_cast<Installed*>(PyCapsule_GetPointer(handle, kHandle));
    installed.observer.drop();
    const bool is_here = installed.thread == std::this_thread::get_id();
    if (is_here && installed.list != nullptr) end_dropped(*installed.list);
    Py_RETURN_TRUE;
  });
}

PyObject* is_observer_of_this_thread(PyObject*, PyObject* handle) {
  if (PyCapsule_IsValid(handle, kHandle) == 0) Py_RETURN_FALSE;
  const auto* const found = static_cast<Installed*>(PyCapsule_GetPointer(handle, kHandle));
  return PyBool_FromLong(found->thread == std::this_thread::get_id() ? 1 : 0);
}

}  // namespace

PyMethodDef observer_functions[] = {
    {"begin_observer", begin_observer, METH_VARARGS,
     "begin_observer(kept, on_enter, on_exit, inputs, outputs, probability): appends a handle"},
    {"set_observer", set_observer, METH_VARARGS, "set_observer(handle, on)"},
    {"end_observer", end_observer, METH_O, "end_observer(handle)"},
    {"drop_observer", drop_observer, METH_O, "drop_observer(handle) -> bool"},
    {"is_observer_of_this_thread", is_observer_of_this_thread, METH_O,
     "is_observer_of_this_thread(handle) -> bool"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace opyard::python
