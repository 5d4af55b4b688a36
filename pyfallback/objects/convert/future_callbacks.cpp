// objects/convert/future_callbacks.cpp: Python callbacks of a future.
//
// They run on the thread that completes it, which may have nothing to do with Python: the GIL is
// taken for them. Once the interpreter has ended, callbacks are no longer called, and a future of
// then() is completed with an error that says so. A callback runs in a copy of the context
// variables of its adder, as those of asyncio do.
#include "objects/convert/future.h"

#include <optional>
#include <string>

#include "objects/convert/convert.h"
#include "runtime/enter_python.h"
#include "runtime/require_stack.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

// The context variables of a callback, while it runs.
class EnteredContext {
 public:
  explicit EnteredContext(PyObject* context) : context_(context) {
    if (PyContext_Enter(context) < 0) throw PythonErrorSet();
  }
  EnteredContext(const EnteredContext&) = delete;
  EnteredContext& operator=(const EnteredContext&) = delete;
  ~EnteredContext() {
    PyObject* const former = take_exception();
    if (PyContext_Exit(context_) < 0) PyErr_WriteUnraisable(context_);
    if (former != nullptr) restore_exception(former);
  }

 private:
  PyObject* const context_;
};

Value continue_with(FutureCallback& callback, FutureObject& completed) {
  return enter_python(callback.runtime, [&] {
    const Owned result = callback.run(completed);
    Value value;
    to_value(callback.runtime, *base_type(TypeKind::Any), result.get(), value);
    return value;
  });
}

void tell_callback(FutureCallback& callback, FutureObject& completed) {
  Runtime& runtime = callback.runtime;
  std::optional<HoldGil> gil;
  try {
    gil.emplace(runtime);
  } catch (const Error&) {
    return;  // the interpreter has ended
  }
  const Owned function = Owned::share(callback.function);
  PyObject* const former = take_exception();
  try {
    callback.run(completed);
  } catch (const PythonErrorSet&) {
    PyErr_WriteUnraisable(function.get());
  } catch (const Error& error) {
    set_python_error(error);
    PyErr_WriteUnraisable(function.get());
  }
  if (former != nullptr) restore_exception(former);
}

CountedPtr<FutureCallback> make_callback(PyObject* self, PyObject* function, const char* method) {
  if (PyCallable_Check(function) == 0) {
    fail(ErrorKind::BadArgument, std::string(method) + " takes a callable, but a value of type '" +
                                     Py_TYPE(function)->tp_name + "' came");
  }
  return make_counted<FutureCallback>(runtime_of(Py_TYPE(self)), function);
}

// Before it is added: another thread may complete the future at once.
void note(PyObject* self, const FutureObject& future, const CountedPtr<FutureCallback>& callback) {
  std::vector<CountedPtr<FutureCallback>>& callbacks = parts_of(self).callbacks;
  if (future.completed()) {
    callbacks.clear();
  } else {
    callbacks.push_back(callback);
  }
}

}  // namespace

FutureCallback::FutureCallback(Runtime& runtime, PyObject* function)
    : runtime(runtime), function(function), context(PyContext_CopyCurrent()) {
  if (context == nullptr) throw PythonErrorSet();
  Py_INCREF(function);
}

FutureCallback::~FutureCallback() {
  for (PyObject* const object : {function, context}) {
    if (object != nullptr) runtime.tag->decref(object, false);
  }
}

Owned FutureCallback::run(FutureObject& completed) {
  require_stack();
  const Owned callee = Owned::steal(std::exchange(function, nullptr));
  const Owned variables = Owned::steal(std::exchange(context, nullptr));
  const Owned argument = wrap(runtime, CountedPtr<FutureObject>::share(&completed));
  const EnteredContext entered(variables.get());
  return checked(in_python([&] { return PyObject_CallOneArg(callee.get(), argument.get()); }));
}

namespace future_method {

PyObject* then(PyObject* self, PyObject* function) {
  return enter_from_python([&] {
    const CountedPtr<FutureObject> future = future_of(self);
    const CountedPtr<FutureCallback> callback = make_callback(self, function, "then()");
    note(self, *future, callback);
    CountedPtr<FutureObject> next = future->then(
        [callback](FutureObject& completed) { return continue_with(*callback, completed); });
    return wrap(runtime_of(Py_TYPE(self)), std::move(next)).release();
  });
}

PyObject* add_done_callback(PyObject* self, PyObject* function) {
  return enter_from_python([&]() -> PyObject* {
    const CountedPtr<FutureObject> future = future_of(self);
    const CountedPtr<FutureCallback> callback =
        make_callback(self, function, "add_done_callback()");
    note(self, *future, callback);
    future->add_callback(
        [callback](FutureObject& completed) { tell_callback(*callback, completed); });
    Py_RETURN_NONE;
  });
}

}  // namespace future_method
}  // namespace opyard::python
