// test/python/plugins/border.cpp: an extension module that uses what pyfallback/runtime offers C++ code: border
// functions, owned references, holding and letting go of the GIL, exceptions on their way through
// threads. It has its own copy of the runtime's functions, and the runtime object of opyard._C.
#include "opyard/detail/python/python.h"

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <latch>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "objects/tensor/tensor.h"
#include "opyard/interpreter/error_class.h"
#include "opyard/library.h"
#include "runtime/gil.h"
#include "runtime/newer_python.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

// The runtime that opyard._C made.
Runtime& shared_runtime() {
  PyObject* const kept = PyInterpreterState_GetDict(PyInterpreterState_Get());
  PyObject* const capsule = PyDict_GetItemString(kept, "opyard.runtime");
  if (capsule == nullptr) fail(ErrorKind::Internal, "opyard is not imported");
  return *static_cast<Runtime*>(PyCapsule_GetPointer(capsule, "opyard.runtime"));
}

struct Odd : std::exception {
  const char* what() const noexcept override { return "odd"; }
};

int throw_it(std::string_view what) {
  if (what == "nothing") return 7;
  if (what == "Error") fail(ErrorKind::BadIndex, "an Error");
  if (what == "bad_alloc") throw std::bad_alloc();
  if (what == "runtime_error") throw std::runtime_error("a runtime_error");
  if (what == "exception") throw Odd();
  if (what == "int") throw 42;
  if (what == "set") {
    PyErr_SetString(PyExc_KeyError, "set");
    throw PythonErrorSet();
  }
  if (what == "named") fail_as("border.Named", "a named one");
  fail(ErrorKind::Internal, "no such case");
}

// throws(what) -> (what the border function returned, the exception or None), returning int
PyObject* throws(PyObject*, PyObject* what) {
  const int result = enter_from_python<int>(-5, [&] { return throw_it(PyUnicode_AsUTF8(what)); });
  PyObject* const exception = take_exception();
  return Py_BuildValue("iN", result, exception == nullptr ? Py_NewRef(Py_None) : exception);
}
// The same, returning an object.
PyObject* throws_object(PyObject*, PyObject* what) {
  return enter_from_python([&] { return PyLong_FromLong(throw_it(PyUnicode_AsUTF8(what))); });
}

// owned(case, object) -> how many references it has more, while the result of the case is alive
PyObject* owned(PyObject*, PyObject* args) {
  const char* which = nullptr;
  PyObject* object = nullptr;
  if (PyArg_ParseTuple(args, "sO", &which, &object) == 0) return nullptr;
  const std::string_view name = which;
  const Py_ssize_t before = Py_REFCNT(object);
  Owned first = Owned::share(object);
  Py_ssize_t now = -1;
  if (name == "share") {
    now = Py_REFCNT(object);
  } else if (name == "self") {
    Owned& same = first;
    first = std::move(same);
    now = first.get() == object ? Py_REFCNT(object) : -1;
  } else if (name == "same pointer") {
    first = Owned::share(object);
    now = first.get() == object ? Py_REFCNT(object) : -1;
  } else if (name == "same pointer stolen") {
    Py_INCREF(object);
    first = Owned::steal(object);
    now = first.get() == object ? Py_REFCNT(object) : -1;
  } else if (name == "move") {
    const Owned second = std::move(first);
    now = !first && second.get() == object ? Py_REFCNT(object)
                                           : -1;  // NOLINT(bugprone-use-after-move)
  } else if (name == "release") {
    PyObject* const raw = first.release();
    now = Py_REFCNT(object);
    Py_DECREF(raw);
  } else if (name == "empty") {
    first = {};
    now = Py_REFCNT(object);
  }
  return PyLong_FromSsize_t(now - before);
}

// Calls a Python function on a native thread; what it raises becomes an Error there, its object.
std::optional<Error> failure_of(Runtime& runtime, PyObject* function) {
  std::optional<Error> error;
  try {
    const HoldGil gil(runtime);
    const HoldGil again(runtime);
    require(runtime, PyObject_CallNoArgs(function));
  } catch (const Error& failed) {
    error = failed;
  }
  return error;
}

// carry(function, copies): its exception, from a native thread to this one, by so many copies.
PyObject* carry(PyObject*, PyObject* args) {
  return enter_from_python([&]() -> PyObject* {
    PyObject* function = nullptr;
    int copies = 0;
    if (PyArg_ParseTuple(args, "Oi", &function, &copies) == 0) throw PythonErrorSet();
    Runtime& runtime = require_runtime(disarmed_vtable());  // which _C has made
    std::vector<Error> errors;
    {
      const ReleaseGil release;
      std::thread([&] {
        const std::optional<Error> error = failure_of(runtime, function);
        if (error) errors.assign(std::size_t(copies), *error);
      }).join();
    }
    if (errors.empty()) Py_RETURN_NONE;
    const Error last = errors.back();
    std::thread([&] { errors.clear(); }).join();  // the GIL is held here, not there
    throw last;
  });
}

// drop(objects): the last references of a list's items, on a native thread without the GIL.
PyObject* drop(PyObject*, PyObject* list) {
  return enter_from_python([&]() -> PyObject* {
    Runtime& runtime = require_runtime(disarmed_vtable());  // which _C has made
    std::vector<PyObject*> objects;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
      objects.push_back(Py_NewRef(PyList_GET_ITEM(list, i)));
    }
    if (PyList_SetSlice(list, 0, PyList_GET_SIZE(list), nullptr) < 0) throw PythonErrorSet();
    std::thread([&] {
      for (PyObject* const object : objects) runtime.tag->decref(object, false);
    }).join();
    Py_RETURN_NONE;
  });
}

// run(function, threads, released): calls it on so many native threads at once, and waits for them
// without the GIL; with `released` also on this thread, which has let go of the GIL then.
PyObject* run(PyObject*, PyObject* args) {
  return enter_from_python([&]() -> PyObject* {
    PyObject* function = nullptr;
    int count = 0;
    int released = 0;
    if (PyArg_ParseTuple(args, "Oip", &function, &count, &released) == 0) throw PythonErrorSet();
    Runtime& runtime = require_runtime(disarmed_vtable());  // which _C has made
    std::vector<std::optional<Error>> errors(std::size_t(count) + 1);
    {
      const ReleaseGil release;
      std::vector<std::thread> threads;
      for (int i = 0; i < count; ++i) {
        threads.emplace_back([&, i] { errors[std::size_t(i)] = failure_of(runtime, function); });
      }
      if (released != 0) errors.back() = failure_of(runtime, function);
      for (std::thread& thread : threads) thread.join();
    }
    for (const std::optional<Error>& error : errors) {
      if (error) throw *error;
    }
    Py_RETURN_NONE;
  });
}

// deadlock(function): waits for a native thread that needs the GIL, and holds it. What a matrix of
// deadlocks must find.
PyObject* deadlock(PyObject*, PyObject* function) {
  return enter_from_python([&]() -> PyObject* {
    Runtime& runtime = require_runtime(disarmed_vtable());  // which _C has made
    std::thread([&] { failure_of(runtime, function); }).join();
    Py_RETURN_NONE;
  });
}

// race(): counts in a word that all threads share, without the GIL. What a thread sanitizer must
// find.
PyObject* race(PyObject*, PyObject*) {
  return enter_from_python([]() -> PyObject* {
    static volatile int shared = 0;
    {
      const ReleaseGil release;
      for (int i = 0; i < 1000; ++i) {
        shared = shared + 1;
        if (i == 500) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // to overlap
      }
    }
    return PyLong_FromLong(shared);
  });
}

// leak() -> half the address of memory that is lost. What a leak detector must find.
PyObject* leak(PyObject*, PyObject*) {
  return PyLong_FromSize_t(reinterpret_cast<std::size_t>(new char[48]) / 2);
}

// Callables that break the rules of C functions.
PyObject* null_without_error(PyObject*, PyObject* const*, Py_ssize_t, PyObject*) { return nullptr; }
PyObject* value_with_error(PyObject*, PyObject* const*, Py_ssize_t, PyObject*) {
  PyErr_SetString(PyExc_ValueError, "set beside a value");
  return Py_NewRef(Py_None);
}

// What C++ code does that may lead to Python code: the entries of test_deadlocks.py.
struct Entry {
  Runtime& runtime;
  const std::string what;
  const std::string op;
  const Tensor x;
  PyObject* const type;  // a class; borrowed, its caller keeps it

  void run() const {
    if (what == "call" || what == "raise") {
      Stack stack;
      stack.push(x);
      require_operator(op).call_boxed(stack);
    } else if (what == "drop") {
      PyObject* last = nullptr;
      {
        const HoldGil gil(runtime);
        last = require(runtime, PyObject_CallNoArgs(type)).release();
      }
      runtime.tag->decref(last, false);
    } else if (what == "register" || what == "deregister") {
      static std::atomic<int> number{0};
      Library library(LibraryKind::Fragment, "deadlocks");
      library.def("made_" + std::to_string(++number) + "(Tensor x) -> Tensor");
      if (what == "deregister") library.reset();
    } else {
      fail(ErrorKind::Internal, "no such entry");
    }
  }
};

// Native threads that wait for work and never end.
class Pool {
 public:
  static Pool& instance() {
    static Pool* const pool = new Pool;
    return *pool;
  }
  void run(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    while (threads_ < 16) {
      ++threads_;
      std::thread([this] { work_for_ever(); }).detach();
    }
    ready_.notify_one();
  }

 private:
  [[noreturn]] void work_for_ever() {
    for (;;) {
      std::unique_lock lock(mutex_);
      ready_.wait(lock, [this] { return !queue_.empty(); });
      const std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      work();
    }
  }
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> queue_;
  int threads_ = 0;
};

// Runs the work for each number below `count`, in that place, and waits.
void run_in(std::string_view place, int count, const std::function<void(int)>& work) {
  if (place == "here") {
    for (int i = 0; i < count; ++i) work(i);
  } else if (place == "new") {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back(work, i);
    for (std::thread& thread : threads) thread.join();
  } else {
    std::latch done(count);
    for (int i = 0; i < count; ++i) {
      Pool::instance().run([&, i] {
        work(i);
        done.count_down();
      });
    }
    done.wait();
  }
}

// enter(entry, op, x, class, place, count, held): runs an entry here, on new native threads or in
// the pool, with or without the GIL, and waits without it. Raises what the first that failed
// raised.
PyObject* enter(PyObject*, PyObject* args) {
  return enter_from_python([&]() -> PyObject* {
    const char* what = nullptr;
    const char* op = nullptr;
    const char* place = nullptr;
    PyObject* x = nullptr;
    PyObject* type = nullptr;
    int count = 0;
    int held = 0;
    if (PyArg_ParseTuple(args, "ssOOsip", &what, &op, &x, &type, &place, &count, &held) == 0) {
      throw PythonErrorSet();
    }
    Runtime& runtime = shared_runtime();
    const Entry entry{runtime, what, op, reinterpret_cast<TensorObject*>(x)->tensor, type};
    std::vector<std::optional<Error>> errors{std::size_t(count)};
    const auto work = [&](int i) {
      try {
        std::optional<HoldGil> gil;
        if (held != 0) gil.emplace(runtime);
        entry.run();
      } catch (const Error& error) {
        errors[std::size_t(i)] = error;
      }
    };
    {
      const ReleaseGil release;
      run_in(place, count, work);
    }
    for (const std::optional<Error>& error : errors) {
      if (error) throw *error;
    }
    Py_RETURN_NONE;
  });
}

// holds() -> (here, where it was let go of, where it was taken on a native thread)
PyObject* holds(PyObject*, PyObject*) {
  return enter_from_python([&] {
    Runtime& runtime = require_runtime(disarmed_vtable());  // which _C has made
    std::array<bool, 4> held{holds_gil()};
    {
      const ReleaseGil release;
      held[1] = holds_gil();
      std::thread([&] {
        held[2] = holds_gil();
        const HoldGil gil(runtime);
        held[3] = holds_gil();
      }).join();
    }
    return Py_BuildValue("NNNN", PyBool_FromLong(held[0]), PyBool_FromLong(held[1]),
                         PyBool_FromLong(held[2]), PyBool_FromLong(held[3]));
  });
}

// failed_layout_check() -> its name, or None
PyObject* failed_layout(PyObject*, PyObject*) { return Py_BuildValue("z", failed_layout_check()); }

// meet_newer_python(failed, cause): the name of a check that has failed, or None; what is raised.
PyObject* meet_newer(PyObject*, PyObject* args) {
  return enter_from_python([&]() -> PyObject* {
    const char* failed = nullptr;
    PyObject* cause = nullptr;
    if (PyArg_ParseTuple(args, "z|O", &failed, &cause) == 0) throw PythonErrorSet();
    if (cause != nullptr) PyErr_SetNone(cause);
    meet_newer_python(failed);
    Py_RETURN_NONE;
  });
}

PyMethodDef functions[] = {
    {"failed_layout_check", failed_layout, METH_NOARGS, nullptr},
    {"meet_newer_python", meet_newer, METH_VARARGS, nullptr},
    {"throws", throws, METH_O, nullptr},
    {"throws_object", throws_object, METH_O, nullptr},
    {"owned", owned, METH_VARARGS, nullptr},
    {"carry", carry, METH_VARARGS, nullptr},
    {"drop", drop, METH_O, nullptr},
    {"run", run, METH_VARARGS, nullptr},
    {"deadlock", deadlock, METH_O, nullptr},
    {"holds", holds, METH_NOARGS, nullptr},
    {"race", race, METH_NOARGS, nullptr},
    {"leak", leak, METH_NOARGS, nullptr},
    {"null_without_error", method(null_without_error), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"value_with_error", method(value_with_error), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"enter", enter, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "opyard_test_border",
                          nullptr,
                          0,
                          functions,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace
}  // namespace opyard::python

extern "C" __attribute__((visibility("default"))) PyObject* PyInit_opyard_test_border() {
  return PyModuleDef_Init(&opyard::python::definition);
}
