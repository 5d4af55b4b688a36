// objects/convert/future_state.cpp: completing a future from Python, waiting for it, and its result.
//
// [Signals] A wait gives the GIL up in slices, since a signal can be told to any thread of the
// process and Python's handlers run only on the main one: there it looks for them after each slice,
// so that Ctrl-C ends a wait within kSlice.
//
// The GIL is let go while a future is completed, because C++ callbacks run then, which may wait for
// a thread that needs it.
#include "objects/convert/future.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "objects/convert/convert.h"
#include "opyard/schema/future_type.h"
#include "runtime/gil.h"
#include "runtime/hooks.h"
#include "runtime/keywords.h"
#include "runtime/require_stack.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

using Duration = FutureObject::Duration;
constexpr Duration kSlice = std::chrono::milliseconds(50);  // see [Signals]

// Nothing for None.
std::optional<Duration> to_timeout(PyObject* given) {
  if (given == Py_None) return std::nullopt;
  require_stack();
  if (PyNumber_Check(given) == 0) {
    fail(ErrorKind::BadArgument,
         fmt::format("Future.wait: timeout must be a number of seconds, or None to wait for ever, "
                     "not an object of {}",
                     Py_TYPE(given)->tp_name));
  }
  const double seconds = PyFloat_AsDouble(given);
  if (seconds == -1.0 && PyErr_Occurred() != nullptr) throw PythonErrorSet();
  OPYARD_CHECK(!std::isnan(seconds), BadValue,
               "wait: the timeout is not a number; give seconds, or None to wait for ever");
  constexpr double kMost = 1e9;  // thirty years
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(std::clamp(seconds, 0.0, kMost)));
}

// Whether it is completed in time. See [Signals].
bool wait_in_slices(FutureObject& future, std::optional<Duration> timeout) {
  const auto start = std::chrono::steady_clock::now();
  while (!future.completed()) {
    Duration slice = kSlice;
    if (timeout) {
      const Duration left = *timeout - (std::chrono::steady_clock::now() - start);
      slice = std::clamp(left, Duration::zero(), kSlice);
    }
    bool completed = false;
    {
      const ReleaseGil release;
      completed = future.wait_until_completed(slice);
    }
    if (PyErr_CheckSignals() < 0) throw PythonErrorSet();
    if (!completed && slice < kSlice) return false;
  }
  return true;
}

// The exception of a failed future, cached so that each reader gets the same one; borrowed.
PyObject* future_exception(PyObject* self, const FutureObject& future) {
  FutureParts& parts = parts_of(self);
  if (parts.exception != nullptr) return parts.exception;
  const Error* const error = future.find_error();
  if (error != nullptr && error->kind() == ErrorKind::Cancelled && !error->carried()) {
    PyObject* const hook = require_hook(runtime_of(Py_TYPE(self)), hook::cancelled_error);
    parts.exception = checked(PyObject_CallNoArgs(hook)).release();
    return parts.exception;
  }
  enter_from_python(0, [&] {
    future.value();
    return 0;
  });
  parts.exception = take_exception();
  return parts.exception;
}

// A new reference.
Owned value_of(PyObject* self, const FutureObject& future) {
  if (future.has_error()) {
    restore_exception(Owned::share(future_exception(self, future)).release());
    throw PythonErrorSet();
  }
  const Value& value = future.value();  // raises if it is not completed
  FutureParts& parts = parts_of(self);
  if (parts.container != nullptr && value.identical(parts.container_value)) {
    return Owned::share(parts.container);
  }
  Runtime& runtime = runtime_of(Py_TYPE(self));
  Owned object = to_python(runtime, *element_type(future), value);
  if (value.is_list() || value.is_tuple() || value.is_dict()) {
    Py_INCREF(object.get());
    Py_XSETREF(parts.container, object.get());
    parts.container_value = value;
  }
  return object;
}

Value to_result(Runtime& runtime, const Type& type, PyObject* object) {
  Value value;
  try {
    if (to_value(runtime, type, object, value)) return value;
  } catch (const PastRange& range) {
    fail(ErrorKind::BadValue, "a Future(" + to_string(type) +
                                  ") cannot be completed with a number outside of " +
                                  range.accepted);
  } catch (const WrongElement& element) {
    fail(ErrorKind::BadArgument, "a Future(" + to_string(type) + ") cannot be completed with a '" +
                                     element.found +
                                     (element.place.empty() ? "'" : "' at " + element.place));
  }
  fail(ErrorKind::BadArgument, "a Future(" + to_string(type) +
                                   ") cannot be completed with a value of type '" +
                                   Py_TYPE(object)->tp_name + "'");
}

// An exception as it was given, or a new one of the class that was given.
Owned require_exception(PyObject* given) {
  if (PyExceptionInstance_Check(given)) return Owned::share(given);
  if (PyExceptionClass_Check(given)) {
    Owned made = checked(PyObject_CallNoArgs(given));
    if (PyExceptionInstance_Check(made.get())) return made;
  }
  fail(ErrorKind::BadArgument,
       std::string("set_exception() takes an exception, but a value of type '") +
           Py_TYPE(given)->tp_name + "' came");
}

}  // namespace

namespace future_method {

PyObject* wait(PyObject* self, PyObject* args, PyObject* kwargs) {
  return enter_from_python([&] {
    static const char* const names[] = {"timeout", nullptr};
    PyObject* given = Py_None;
    if (!parse_keywords(args, kwargs, "|O:wait", names, &given)) {
      throw PythonErrorSet();
    }
    const std::optional<Duration> timeout = to_timeout(given);
    const CountedPtr<FutureObject> future = future_of(self);
    if (!wait_in_slices(*future, timeout)) {
      fail(ErrorKind::TimedOut, fmt::format("the future was not completed within {} seconds",
                                            std::chrono::duration<double>(*timeout).count()));
    }
    return value_of(self, *future).release();
  });
}

PyObject* value(PyObject* self, PyObject*) {
  return enter_from_python([&] { return value_of(self, *future_of(self)).release(); });
}

PyObject* exception(PyObject* self, PyObject*) {
  return enter_from_python([&]() -> PyObject* {
    const CountedPtr<FutureObject> future = future_of(self);
    if (future->has_error()) return Owned::share(future_exception(self, *future)).release();
    future->value();  // raises if it is not completed
    Py_RETURN_NONE;
  });
}

PyObject* set_result(PyObject* self, PyObject* result) {
  return enter_from_python([&]() -> PyObject* {
    const CountedPtr<FutureObject> future = future_of(self);
    Value value = to_result(runtime_of(Py_TYPE(self)), *element_type(*future), result);
    FutureParts& parts = parts_of(self);
    if (!future->completed() && (value.is_list() || value.is_tuple() || value.is_dict())) {
      Py_INCREF(result);
      Py_XSETREF(parts.container, result);
      parts.container_value = value;
    }
    {
      const ReleaseGil release;
      future->set_value(std::move(value));
    }
    Py_RETURN_NONE;
  });
}

PyObject* set_exception(PyObject* self, PyObject* given) {
  return enter_from_python([&]() -> PyObject* {
    const CountedPtr<FutureObject> future = future_of(self);
    const Error error = to_error(runtime_of(Py_TYPE(self)), require_exception(given));
    {
      const ReleaseGil release;
      future->set_error(error);
    }
    Py_RETURN_NONE;
  });
}

PyObject* cancel(PyObject* self, PyObject*) {
  return enter_from_python([&] {
    const CountedPtr<FutureObject> future = future_of(self);
    bool done = false;
    if (!future->completed()) {
      const ReleaseGil release;
      done = future->cancel();
    }
    return PyBool_FromLong(done ? 1 : 0);
  });
}

}  // namespace future_method
}  // namespace opyard::python
