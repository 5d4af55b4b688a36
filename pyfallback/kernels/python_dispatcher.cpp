// kernels/python_dispatcher.cpp: the Python dispatcher: an operator's cache, and its calls.
//
// [Cache] A dictionary of the operator's Python object: the number of a key leads to (the address
// of the record that was there, the address of its Python function, what the hook said). An entry
// holds while both addresses are those of the table, so that registrations need not know of caches.
#include "kernels/python_dispatcher.h"

#include <fmt/format.h>

#include "kernels/python_kernel.h"
#include "objects/values/key_set.h"
#include "operators/overload.h"
#include "operators/packet.h"
#include "opyard/detail/registry/gradient_slot.h"
#include "opyard/detail/thread/thread_dispatcher.h"
#include "opyard/inspect/inspect.h"
#include "opyard/registry/registry.h"
#include "runtime/errors.h"
#include "runtime/gil.h"
#include "runtime/hooks.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

// Another dispatcher for a scope.
class DispatcherScope {
 public:
  explicit DispatcherScope(Interpreter* interpreter) noexcept
      : former_(exchange_thread_dispatcher(interpreter)) {}
  DispatcherScope(const DispatcherScope&) = delete;
  DispatcherScope& operator=(const DispatcherScope&) = delete;
  ~DispatcherScope() { exchange_thread_dispatcher(former_); }

 private:
  Interpreter* const former_;
};

PyObject* dispatcher_function_at(const Runtime& runtime, const Record& record) noexcept {
  const PythonKernel* const kernel = find_python_kernel(runtime, record);
  return kernel == nullptr ? nullptr : kernel->function;
}

bool holds(const Runtime& runtime, PyObject* entry, const Record& record) {
  return PyLong_AsVoidPtr(PyTuple_GET_ITEM(entry, 0)) == &record &&
         PyLong_AsVoidPtr(PyTuple_GET_ITEM(entry, 1)) == dispatcher_function_at(runtime, record);
}

// What runs at the key: see [Cache].
Owned find_dispatch(Runtime& runtime, const Operator& op, DispatchKey key, const Record& record) {
  const Owned op_object = overload_object(runtime, op);
  PyObject*& cache = overload_object_of(op_object.get()).dispatch_cache;
  if (cache == nullptr) cache = checked(PyDict_New()).release();
  const Owned number = checked(PyLong_FromLong(int(key)));
  PyObject* const cached = PyDict_GetItemWithError(cache, number.get());
  if (cached != nullptr && holds(runtime, cached, record)) {
    return Owned::share(PyTuple_GET_ITEM(cached, 2));
  }
  if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
  Owned found;
  {
    const DispatcherScope suspended(nullptr);
    PyObject* const ask = require_hook(runtime, hook::get_dispatch);
    found = checked(in_python(
        [&] { return PyObject_CallFunctionObjArgs(ask, op_object.get(), number.get(), nullptr); }));
  }
  if (!PyLong_Check(found.get()) && PyCallable_Check(found.get()) == 0) {
    fail(
        ErrorKind::BadReturn,
        fmt::format("{}: the Python dispatcher was given a '{}' for {}, which is neither a key nor "
                    "a function",
                    to_string(op.name()), Py_TYPE(found.get())->tp_name, to_string(key)));
  }
  const Owned record_address = checked(PyLong_FromVoidPtr(const_cast<Record*>(&record)));
  const Owned function_address =
      checked(PyLong_FromVoidPtr(dispatcher_function_at(runtime, record)));
  const Owned entry =
      checked(PyTuple_Pack(3, record_address.get(), function_address.get(), found.get()));
  if (PyDict_SetItem(cache, number.get(), entry.get()) < 0) throw PythonErrorSet();
  return found;
}

struct FunctionAtKey {
  const Operator& op;
  DispatchKey key;
};
std::string describe_function(const void* who) {
  return "the Python dispatcher's function for " +
         to_string(static_cast<const FunctionAtKey*>(who)->key);
}

// set_python_dispatcher(on) -> whether it was on
PyObject* set_python_dispatcher(PyObject* module, PyObject* on) {
  return enter_from_python([&] {
    const int wanted = PyObject_IsTrue(on);
    if (wanted < 0) throw PythonErrorSet();
    Interpreter* const tag = runtime_of_module(module).tag;
    return PyBool_FromLong(exchange_thread_dispatcher(wanted != 0 ? tag : nullptr) != nullptr);
  });
}

const Operator& require_op(const Runtime& runtime, PyObject* object) {
  if (!is_overload(runtime, object)) {
    fail(ErrorKind::BadArgument,
         std::string("expected an operator, not ") + Py_TYPE(object)->tp_name);
  }
  return plan_of(object).op();
}

// python_function(op, key): the Python function that takes plain arguments there, or None
PyObject* python_function(PyObject* module, PyObject* args) {
  return enter_from_python([&]() -> PyObject* {
    PyObject* object = nullptr;
    PyObject* key = nullptr;
    if (PyArg_ParseTuple(args, "OO", &object, &key) == 0) throw PythonErrorSet();
    Runtime& runtime = runtime_of_module(module);
    const Operator& op = require_op(runtime, object);
    detail::enter_thread();
    const detail::CallDepth depth;
    const PythonKernel* const kernel =
        find_python_kernel(runtime, *inspect::resolve(op, to_dispatch_key(key)).record);
    const bool plain = kernel != nullptr && kernel->convention.is_plain();
    return Owned::share(plain ? kernel->function : Py_None).release();
  });
}

// dispatch_cache(op): what the Python dispatcher has found, by the number of the key
PyObject* dispatch_cache(PyObject* module, PyObject* object) {
  return enter_from_python([&] {
    require_op(runtime_of_module(module), object);
    Owned found = checked(PyDict_New());
    PyObject* const cache = overload_object_of(object).dispatch_cache;
    PyObject* key = nullptr;
    PyObject* entry = nullptr;
    for (Py_ssize_t at = 0; cache != nullptr && PyDict_Next(cache, &at, &key, &entry) != 0;) {
      if (PyDict_SetItem(found.get(), key, PyTuple_GET_ITEM(entry, 2)) < 0) throw PythonErrorSet();
    }
    return found.release();
  });
}

}  // namespace

void dispatch_in_python(Runtime& runtime, const Operator& op, DispatchKeySet keys, Stack& stack) {
  detail::enter_thread();
  const detail::CallDepth depth;  // keeps the record
  const Record* record = &op.follow(keys);
  while (
      record->role == RecordRole::Tape &&
      detail::passes(*record, detail::may_need_gradient(stack.top(op.schema().arguments.size())))) {
    keys = detail::below_layer(keys);
    record = &op.follow(keys);
  }
  DispatchKey key = key_of_slot(runtime_index(keys));
  {
    const HoldGil gil(runtime);
    try {
      const Owned found = find_dispatch(runtime, op, key, *record);
      if (!PyLong_Check(found.get())) {
        const FunctionAtKey function{op, key};
        return call_python_function(runtime, found.get(), {}, {describe_function, &function}, op,
                                    keys, stack);
      }
      const DispatchKey other = to_dispatch_key(found.get());
      if (other != key) record = inspect::resolve(op, other).record;
    } catch (const PythonErrorSet&) {
      throw_python_error(runtime);
    }
  }
  op.run_boxed(*record, keys, stack);
}

PyMethodDef python_dispatcher_functions[] = {
    {"set_python_dispatcher", set_python_dispatcher, METH_O,
     "set_python_dispatcher(on) -> whether it was on"},
    {"python_function", python_function, METH_VARARGS, "python_function(op, key) or None"},
    {"dispatch_cache", dispatch_cache, METH_O, "dispatch_cache(op) -> {key: function or key}"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace opyard::python
