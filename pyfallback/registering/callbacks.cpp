// registering/callbacks.cpp: registry listeners and missing-kernel reporters in Python.
//
// [Listening] is a capsule that owns a Registration; dropping it ends the listening. What
// on_defined raises comes out of the definition as that same object. on_undefined is told while a
// registration ends, which nothing may stop, so what it raises goes to sys.unraisablehook; and so
// does what on_defined raises while a thread puts a definition back that another was to replace.
#include "registering/callbacks.h"

#include "operators/overload.h"
#include "operators/packet.h"
#include "opyard/detail/python/stack_end.h"
#include "opyard/registry/listener.h"
#include "opyard/registry/registry.h"
#include "runtime/enter_python.h"
#include "runtime/gil.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

// A reference to a Python function that C++ keeps, and may drop on any thread.
class Callback {
 public:
  // With the GIL held.
  Callback(Runtime& runtime, PyObject* function) noexcept : runtime_(runtime), function_(function) {
    Py_INCREF(function);
  }
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;
  ~Callback() { runtime_.tag->decref(function_, false); }

  Runtime& runtime() const noexcept { return runtime_; }
  PyObject* function() const noexcept { return function_; }

 private:
  Runtime& runtime_;
  PyObject* const function_;
};
using SharedCallback = std::shared_ptr<const Callback>;

// Null for None. Raises BadArgument for what cannot be called.
SharedCallback callback_of(Runtime& runtime, PyObject* function, const char* what) {
  if (function == Py_None) return nullptr;
  if (PyCallable_Check(function) == 0) {
    fail(ErrorKind::BadArgument,
         std::string(what) + " must be a callable or None, not " + Py_TYPE(function)->tp_name);
  }
  return std::make_shared<const Callback>(runtime, function);
}

// With the GIL held.
void call_with(const Callback& callback, const Owned& argument) {
  if (is_stack_at_its_end()) throw_python_error(callback.runtime());
  require(callback.runtime(),
          in_python([&] { return PyObject_CallOneArg(callback.function(), argument.get()); }));
}

void call_and_report(const Callback& callback, const Operator& op) {
  // Code that ends or puts back a registration may have an exception on its way.
  PyObject* const former = take_exception();
  try {
    call_with(callback, overload_object(callback.runtime(), op));
  } catch (const PythonErrorSet&) {
    PyErr_WriteUnraisable(callback.function());
  } catch (const Error& error) {
    set_python_error(error);
    PyErr_WriteUnraisable(callback.function());
  }
  if (former != nullptr) restore_exception(former);
}

void tell_defined(const Callback& callback, const Operator& op) {
  Runtime& runtime = callback.runtime();
  if (runtime.gate.closed() && !holds_gil(runtime)) return;
  const bool report = is_putting_definitions_back();  // see [Listening]
  const LeaveInterpreter other(runtime);
  enter_python(runtime, [&] {
    if (report) return call_and_report(callback, op);
    call_with(callback, overload_object(runtime, op));
  });
}

void tell_undefined(const Callback& callback, const Operator& op) {
  Runtime& runtime = callback.runtime();
  if (runtime.gate.closed() && !holds_gil(runtime)) return;
  const LeaveInterpreter other(runtime);
  const HoldGil gil(runtime);  // enter_python() would raise at the end of the C stack, unheard
  call_and_report(callback, op);
}

// put_definitions_back(on) -> what it was: whether this thread puts back what it defines.
PyObject* put_definitions_back(PyObject*, PyObject* on) {
  const int wanted = PyObject_IsTrue(on);
  if (wanted < 0) return nullptr;
  return PyBool_FromLong(opyard::put_definitions_back(wanted != 0) ? 1 : 0);
}

constexpr const char* kListening = "opyard.listening";

void end_listening(PyObject* capsule) {
  delete static_cast<Registration*>(PyCapsule_GetPointer(capsule, kListening));
}

// listen(on_defined, on_undefined) -> capsule. See [Listening].
PyObject* listen(PyObject* module, PyObject* args) {
  return enter_from_python([&] {
    PyObject* on_defined = nullptr;
    PyObject* on_undefined = nullptr;
    if (PyArg_ParseTuple(args, "OO", &on_defined, &on_undefined) == 0) throw PythonErrorSet();
    Runtime& runtime = runtime_of_module(module);
    RegistrationListener listener;
    if (auto callback = callback_of(runtime, on_defined, "on_defined")) {
      listener.on_defined = [callback](const Operator& op) { tell_defined(*callback, op); };
    }
    if (auto callback = callback_of(runtime, on_undefined, "on_undefined")) {
      listener.on_undefined = [callback](const Operator& op) { tell_undefined(*callback, op); };
    }
    auto registration =
        std::make_unique<Registration>(Registry::instance().listen(std::move(listener)));
    Owned capsule = checked(PyCapsule_New(registration.get(), kListening, end_listening));
    static_cast<void>(registration.release());
    return capsule.release();
  });
}

// stop_listening(capsule): now; once is enough.
PyObject* stop_listening(PyObject*, PyObject* capsule) {
  return enter_from_python([&]() -> PyObject* {
    auto* const registration =
        static_cast<Registration*>(PyCapsule_GetPointer(capsule, kListening));
    if (registration == nullptr) throw PythonErrorSet();
    registration->undo();
    Py_RETURN_NONE;
  });
}

class PythonReporter final : public MissingKernelReporter {
 public:
  explicit PythonReporter(SharedCallback callback) noexcept : callback_(std::move(callback)) {}

  void report(const Operator&, DispatchKey key) const override {
    // Not to a thread that is in another interpreter, which no call changes.
    const Runtime& runtime = callback_->runtime();
    if (own_thread_state() != nullptr && !is_inside(runtime)) return;
    runtime.tag->report_error_callback(callback_->function(), key);
  }

 private:
  const SharedCallback callback_;
};

// set_missing_kernel_reporter(op, function or None)
PyObject* set_missing_kernel_reporter(PyObject* module, PyObject* args) {
  return enter_from_python([&]() -> PyObject* {
    PyObject* op = nullptr;
    PyObject* function = nullptr;
    if (PyArg_ParseTuple(args, "OO", &op, &function) == 0) throw PythonErrorSet();
    Runtime& runtime = runtime_of_module(module);
    if (!is_overload(runtime, op)) {
      fail(ErrorKind::BadArgument,
           std::string("expected an operator, not ") + Py_TYPE(op)->tp_name);
    }
    SharedCallback callback = callback_of(runtime, function, "the error callback");
    CountedPtr<MissingKernelReporter> reporter;
    if (callback != nullptr) reporter = make_counted<PythonReporter>(std::move(callback));
    Registry::instance().set_missing_kernel_reporter(plan_of(op).op(), std::move(reporter));
    Py_RETURN_NONE;
  });
}

}  // namespace

PyMethodDef callback_functions[] = {
    {"listen", listen, METH_VARARGS, "listen(on_defined, on_undefined) -> what keeps it going"},
    {"stop_listening", stop_listening, METH_O, "stop_listening(what listen() gave)"},
    {"put_definitions_back", put_definitions_back, METH_O,
     "put_definitions_back(on) -> what it was: on, listeners cannot refuse what this thread "
     "defines"},
    {"set_missing_kernel_reporter", set_missing_kernel_reporter, METH_VARARGS,
     "set_missing_kernel_reporter(op, function or None)"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace opyard::python
