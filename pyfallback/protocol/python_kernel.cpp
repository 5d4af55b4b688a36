// protocol/python_kernel.cpp: from a boxed call to a Python function and back.
//
// What it is called with is described in protocol/call_arguments.h, what it may return in
// protocol/results.h.
//
// [Errors] An exception of the function leaves as an Error that carries it, and becomes the same
// object again where Python called.
#include "protocol/python_kernel.h"

#include <fmt/format.h>

#include "objects/key_set.h"
#include "objects/overload.h"
#include "objects/packet.h"
#include "opyard/registry/registry.h"
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

// Runs a body that calls Python for C++, with the GIL.
template <typename Body>
void enter_python(Runtime& runtime, const Body& body) {
  const HoldGil gil(runtime);
  try {
    body();
  } catch (const PythonErrorSet&) {
    throw_python_error(runtime);  // the caller may be C++, which must not see the other
  }
}

}  // namespace

void call_python_function(Runtime& runtime, PyObject* function, KernelConvention convention,
                          const Returner& returner, const Operator& op, DispatchKeySet keys,
                          Stack& stack) {
  const Schema& schema = op.schema();
  const std::span<Value> values = stack.top(schema.arguments.size());

  CallArguments arguments(values.size() + 2);
  if (convention.with_keyset) arguments.add(wrap(runtime, keys));
  if (convention.with_op) arguments.add(overload_object(runtime, op));
  std::size_t by_position = 0;
  const Owned names = add_arguments(runtime, schema, values, arguments, by_position);
  const Owned result = require(runtime, in_python([&] {
                                 return PyObject_Vectorcall(
                                     function, arguments.data(),
                                     by_position | PY_VECTORCALL_ARGUMENTS_OFFSET, names.get());
                               }));
  stack.drop(values.size());
  push_results(runtime, returner, op, result.get(), stack);
}

void run_python_kernel(const Record& record, const Operator& op, DispatchKeySet keys,
                       Stack& stack) {
  const PythonKernel& kernel = *static_cast<const PythonKernel*>(record.context);
  enter_python(kernel.runtime, [&] {
    call_python_function(kernel.runtime, kernel.function, kernel.convention,
                         {describe_kernel, &record}, op, keys, stack);
  });
}

const PythonKernel* find_python_kernel(const Runtime& runtime, const Record& record) noexcept {
  if (record.boxed != &run_python_kernel) return nullptr;
  const auto* const kernel = static_cast<const PythonKernel*>(record.context);
  return &kernel->runtime == &runtime ? kernel : nullptr;
}

void run_registered_function(Runtime& runtime, const Operator& op, DispatchKey key,
                             DispatchKeySet keys, Stack& stack, KernelConvention convention) {
  detail::enter_thread();
  const detail::CallDepth depth;  // keeps the record
  const Registry::Resolution found = Registry::instance().resolve(op, key);
  const PythonKernel* const kernel = find_python_kernel(runtime, *found.record);
  if (kernel == nullptr) {
    fail(ErrorKind::NoKernel,
         fmt::format("{} has no Python function of interpreter {} at {}; what stands there is: {}",
                     to_string(op.name()), runtime.tag->name(), to_string(key), found.provenance));
  }
  enter_python(runtime, [&] {
    call_python_function(runtime, kernel->function, convention, {describe_kernel, found.record}, op,
                         keys, stack);
  });
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
