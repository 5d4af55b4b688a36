// kernels/thread_context.cpp: capturing a thread's keys and modes, and calling with them.
#include "kernels/thread_context.h"

#include "opyard/thread/thread_context.h"
#include "runtime/errors.h"
#include "runtime/require_stack.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

constexpr const char* kContextName = "opyard.thread_context";

ThreadContext& context_of(PyObject* capsule) {
  auto* const context = static_cast<ThreadContext*>(PyCapsule_GetPointer(capsule, kContextName));
  if (context == nullptr) throw PythonErrorSet();
  return *context;
}

void drop_context(PyObject* capsule) {
  delete static_cast<ThreadContext*>(PyCapsule_GetPointer(capsule, kContextName));
}

// capture_thread_context() -> capsule
PyObject* capture(PyObject*, PyObject*) {
  return enter_from_python([&] {
    auto context = std::make_unique<ThreadContext>(ThreadContext::capture());
    Owned capsule = checked(PyCapsule_New(context.get(), kContextName, drop_context));
    static_cast<void>(context.release());
    return capsule.release();
  });
}

// run_in_thread_context(context, keep, function, args, kwargs): with `keep` the context becomes
// what the function left.
PyObject* run_in_context(PyObject*, PyObject* arguments) {
  return enter_from_python([&] {
    PyObject* capsule = nullptr;
    int keep = 0;
    PyObject* function = nullptr;
    PyObject* args = nullptr;
    PyObject* kwargs = nullptr;
    if (PyArg_ParseTuple(arguments, "OpOO!O!", &capsule, &keep, &function, &PyTuple_Type, &args,
                         &PyDict_Type, &kwargs) == 0) {
      throw PythonErrorSet();
    }
    require_stack();
    ThreadContext& context = context_of(capsule);
    const ThreadContextScope scope(context);
    PyObject* const result = in_python([&] { return PyObject_Call(function, args, kwargs); });
    if (keep != 0) context = ThreadContext::capture();
    return result;
  });
}

}  // namespace

PyMethodDef thread_context_functions[] = {
    {"capture_thread_context", capture, METH_NOARGS, "capture_thread_context() -> a context"},
    {"run_in_thread_context", run_in_context, METH_VARARGS,
     "run_in_thread_context(context, keep, function, args, kwargs)"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace opyard::python
