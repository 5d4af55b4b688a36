// kernels/handlers.h: __opyard_dispatch__, of modes and of tensor classes.
//
//   mode.__opyard_dispatch__(op, types, args, kwargs)     a method of the mode
//   Class.__opyard_dispatch__(op, types, args, kwargs)    a class method of a subclass of Tensor
//
// `op` is the OpOverload, `types` the distinct classes with handlers among the arguments, in the
// order in which they are asked; arguments and results are those of Python kernels
// (call_arguments.h, results.h). A handler whose `kwargs` has a default gets that if there are
// none; another gets a dictionary in any case.
//
// Depends on: operators/python_function.h, registry/operator.h.
#pragma once

#include "runtime/runtime.h"

#include "operators/python_function.h"
#include "opyard/registry/operator.h"
#include "opyard/tensor/tensor.h"
#include "opyard/value/stack.h"

namespace opyard::python {

// Runs a boxed call by the handlers: what the function `dispatch` does. Any thread.
void dispatch_to_handlers(Runtime& runtime, const Operator& op, Stack& stack);

// A tensor on the same memory, made by the handler of its class for aten.detach; of the same class,
// if that has none: what the function `detach` does. Any thread.
Tensor detach_by_handler(Runtime& runtime, const Tensor& self);

// Asks the modes of this thread, then the classes of the arguments. These are ready: what a handler
// gets. With the GIL held; throws what a handler raises.
HandlerAnswer ask_handlers(Runtime& runtime, PyObject* overload, PyObject* const* args,
                           std::size_t count, PyObject* names);

// For the Runtime.
extern const HandlerCalls handler_calls;

// The functions of _C for handlers, ended by a null row.
extern PyMethodDef handler_functions[];

// Keeps what handlers need in the runtime. Throws PythonErrorSet.
void prepare_handlers(Runtime& runtime, PyObject* module);

}  // namespace opyard::python
