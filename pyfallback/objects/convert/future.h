// objects/convert/future.h: opyard.futures.Future, a face of a value/future_object.h in Python.
//
// A future has one wrapper while Python knows it: the one that comes back is the one that went in.
// objects/convert/future.cpp has the type and its life, objects/convert/future_state.cpp what
// completes a future and what came of it, objects/convert/future_callbacks.cpp what follows.
//
// Depends on: runtime/runtime.h, value/future_object.h.
#pragma once

#include "runtime/runtime.h"

#include <vector>

#include "opyard/detail/value/future_object.h"

namespace opyard::python {

// A Python function that waits for a future, and the context variables of its adder. Its members
// are used with the GIL held, and null once it has run.
class FutureCallback final : public Counted {
 public:
  // With the GIL held. Throws PythonErrorSet.
  FutureCallback(Runtime& runtime, PyObject* function);
  // Any thread.
  ~FutureCallback() override;

  // Calls it with the future, once. With the GIL held; throws PythonErrorSet.
  Owned run(FutureObject& completed);

  Runtime& runtime;
  PyObject* function;
  PyObject* context;
};

// What a wrapper keeps. All but the future itself is there for identity and for the collector.
struct FutureParts {
  CountedPtr<FutureObject> future;  // null once the collector has cleared it
  // Those that were added through this wrapper and have not run, and some that have.
  std::vector<CountedPtr<FutureCallback>> callbacks;
  // The container that the future was completed with here, or was first read as, and its value; so
  // that each reader gets the same list.
  PyObject* container = nullptr;
  Value container_value;
  // The exception of a failed future, once it was asked for.
  PyObject* exception = nullptr;
};

struct FutureWrapper {
  PyObject_HEAD FutureParts parts;
  PyObject* weak_references;
};

inline bool is_future(const Runtime& runtime, PyObject* object) noexcept {
  return Py_TYPE(object) == runtime.future_type;
}
inline FutureParts& parts_of(PyObject* self) noexcept {
  return reinterpret_cast<FutureWrapper*>(self)->parts;
}
// The future of a wrapper, with one more owner. Raises BadFuture if the collector has cleared
// it.
CountedPtr<FutureObject> future_of(PyObject* self);

// The wrapper of a future: the one that there is, or a new one. With the GIL held.
Owned wrap(Runtime& runtime, CountedPtr<FutureObject> future);

// Methods, by file.
extern PyMethodDef future_methods[];
namespace future_method {
PyObject* set_result(PyObject* self, PyObject* result);
PyObject* set_exception(PyObject* self, PyObject* exception);
PyObject* cancel(PyObject* self, PyObject*);
PyObject* wait(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* value(PyObject* self, PyObject*);
PyObject* exception(PyObject* self, PyObject*);
PyObject* then(PyObject* self, PyObject* function);
PyObject* add_done_callback(PyObject* self, PyObject* function);
}  // namespace future_method

// collect_all(futures), collect_any(futures): functions of _C, ended by a null row.
extern PyMethodDef future_functions[];

void add_future_type(Runtime& runtime, PyObject* module);

}  // namespace opyard::python
