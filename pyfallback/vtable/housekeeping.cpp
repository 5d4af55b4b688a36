// vtable/housekeeping.cpp: naming CPython, its thread and its objects; the error callback.
#include "vtable/vtable.h"

#include "opyard/detail/python/stack_end.h"
#include "opyard/keys/dispatch_key.h"
#include "runtime/errors.h"
#include "runtime/gil.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

int drain_pending(void* context) {
  Runtime& runtime = *static_cast<Runtime*>(context);
  if (holds_gil(runtime)) runtime.drain_with_gil_held();
  return 0;
}

}  // namespace

const char* vtable::name(Interpreter& interpreter) { return runtime_of(interpreter).name.c_str(); }

bool vtable::is_current(Interpreter& interpreter) { return is_inside(runtime_of(interpreter)); }

void vtable::incref(Interpreter& interpreter, void* object) {
  const HoldGil gil(runtime_of(interpreter));
  Py_INCREF(static_cast<PyObject*>(object));
}

void vtable::decref(Interpreter& interpreter, void* object, bool) {
  Runtime& runtime = runtime_of(interpreter);
  if (holds_gil(runtime)) {
    runtime.drop_from_cpp(static_cast<PyObject*>(object));
    return;
  }
  runtime.drops.push(static_cast<PyObject*>(object));
  // Asks the main thread to drop it soon. If its queue is full, and in another interpreter than
  // the main one, the next entry does.
  if (runtime.is_main && !runtime.gate.closed())
    static_cast<void>(Py_AddPendingCall(drain_pending, &runtime));
}

void vtable::report_error_callback(Interpreter& interpreter, void* callback, DispatchKey key) {
  Runtime& runtime = runtime_of(interpreter);
  const HoldGil gil(runtime);
  if (is_stack_at_its_end()) throw_python_error(runtime);
  const std::string text = to_string(key);
  const Owned name =
      require(runtime, PyUnicode_FromStringAndSize(text.data(), Py_ssize_t(text.size())));
  require(runtime, in_python([&] {
            return PyObject_CallOneArg(static_cast<PyObject*>(callback), name.get());
          }));
}

}  // namespace opyard::python
