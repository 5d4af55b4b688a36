// protocol/python_kernel.cpp: from a boxed call to a Python function and back.
//
// What it is called with is described in protocol/call_arguments.h, what it may return in
// protocol/results.h.
//
// [Errors] An exception of the function leaves as an Error that carries it, and becomes the same
// object again where Python called.
#include "protocol/python_kernel.h"

#include "objects/key_set.h"
#include "objects/overload.h"
#include "objects/packet.h"
#include "protocol/call_arguments.h"
#include "protocol/results.h"
#include "runtime/errors.h"
#include "runtime/gil.h"

namespace opyard::python {
namespace {

void destroy_kernel(void* context) {
  const std::unique_ptr<PythonKernel> kernel(static_cast<PythonKernel*>(context));
  kernel->runtime.tag->decref(kernel->function, false);
}

std::string describe_kernel(const void* record) {
  return "the Python kernel " + static_cast<const Record*>(record)->provenance;
}

// With the GIL held.
void call_function(const Record& record, const Operator& op, DispatchKeySet keys, Stack& stack) {
  const PythonKernel& kernel = *static_cast<const PythonKernel*>(record.context);
  Runtime& runtime = kernel.runtime;
  const Schema& schema = op.schema();
  const std::span<Value> values = stack.top(schema.arguments.size());

  CallArguments arguments(values.size() + 2);
  if (kernel.convention.with_keyset) arguments.add(wrap(runtime, keys));
  if (kernel.convention.with_op) arguments.add(overload_object(runtime, op));
  std::size_t by_position = 0;
  const Owned names = add_arguments(runtime, schema, values, arguments, by_position);
  const Owned result = require(runtime, in_python([&] {
                                 return PyObject_Vectorcall(
                                     kernel.function, arguments.data(),
                                     by_position | PY_VECTORCALL_ARGUMENTS_OFFSET, names.get());
                               }));
  stack.drop(values.size());
  push_results(runtime, {describe_kernel, &record}, op, result.get(), stack);
}

}  // namespace

void run_python_kernel(const Record& record, const Operator& op, DispatchKeySet keys,
                       Stack& stack) {
  Runtime& runtime = static_cast<const PythonKernel*>(record.context)->runtime;
  const HoldGil gil(runtime);
  try {
    call_function(record, op, keys, stack);
  } catch (const PythonErrorSet&) {
    throw_python_error(runtime);  // the caller may be C++, which must not see the other
  }
}

Owned convert_results(Runtime& runtime, const Record& record, const Operator& op,
                      PyObject* result) {
  CallStack stack;
  push_results(runtime, {describe_kernel, &record}, op, result, stack);
  return Owned::steal(take_results(runtime, op, stack));
}

Kernel make_python_kernel(Runtime& runtime, PyObject* function, KernelConvention convention) {
  auto kernel = std::unique_ptr<PythonKernel>(new PythonKernel{runtime, function, convention});
  Kernel made = Kernel::with_context(&run_python_kernel, kernel.get(), &destroy_kernel);
  Py_INCREF(function);
  static_cast<void>(kernel.release());
  return made;
}

}  // namespace opyard::python
