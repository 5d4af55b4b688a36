// operators/python_function.h: the Python function behind a kernel's record.
//
// A record whose boxed function is PythonKernelCalls::run has a PythonKernel as its context. Code
// that has the call's arguments as Python objects may call the function with them directly:
// direct_call.h.
//
// Depends on: operators/gc_visible_functions.h, runtime/{runtime,stack_end}.h, registry/record.h.
#pragma once

#include "runtime/runtime.h"

#include <atomic>

#include "operators/gc_visible_functions.h"
#include "opyard/detail/python/stack_end.h"
#include "opyard/registry/operator.h"

namespace opyard::python {

// PyObject_Vectorcall for what mostly is a function in Python. Such a one is called at once: what
// CPython looks at behind each call, that an exception comes with a null, holds of its own
// functions. Each level of kernels that call operators passes here, so the end of the C stack is
// looked for here.
inline PyObject* call_function(PyObject* function, PyObject* const* args, std::size_t flags,
                               PyObject* names) {
  if (is_stack_at_its_end()) return nullptr;
  if (__builtin_expect(PyFunction_Check(function), 1)) {
    return reinterpret_cast<PyFunctionObject*>(function)->vectorcall(function, args, flags, names);
  }
  return PyObject_Vectorcall(function, args, flags, names);
}

// What the results of a kernel may be; if it is anything but Any, each call looks, as
// kernels/result_rules.h says.
enum class ResultRule : std::uint8_t { Any, Fresh, FirstArgument, OutArguments };

// What a Python kernel is called with before the operator's arguments, in this order, and what is
// asked of its results.
struct KernelConvention {
  bool with_keyset = false;  // the DispatchKeySet of the call
  bool with_op = false;      // the operator: for fallbacks, which serve all of them
  ResultRule rule = ResultRule::Any;
  DispatchKey key = DispatchKey::Undefined;  // where it is registered, which may be an alias

  // The arguments alone, and nothing is asked.
  bool is_plain() const noexcept { return !with_keyset && !with_op && rule == ResultRule::Any; }
};

struct PythonKernel {
  Runtime& runtime;
  PyObject* const function;
  const KernelConvention convention;
  const GcVisibleFunction shown;
  // The operator that was called last where it takes tensors by position only and gives one: its
  // calls need no conversions. The second is for kernels whose results have to be fresh. Read
  // before the GIL is there: both ways do the same.
  mutable std::atomic<const Operator*> of_tensors = nullptr;
  mutable std::atomic<const Operator*> of_tensors_fresh = nullptr;
};

// What handlers answered, and who.
struct HandlerAnswer {
  Owned object;  // null if no one was asked
  Owned type;    // the class that answered, or that of the mode
  bool of_mode = false;
};

// How a direct call reaches the kernels in Python (kernels/python_kernel.cpp) and the handlers of
// modes and classes (kernels/handlers.cpp), which are in the room above. The module gives both
// tables to the Runtime; the functions have the GIL, and throw what the Python code raises.
struct PythonKernelCalls {
  // The boxed function of the records that have a PythonKernel as their context.
  void (*run)(const Record& record, const Operator& op, DispatchKeySet keys, Stack& stack);
  // What a function returned, by way of the stack: converted and checked as a boxed call does it.
  Owned (*convert_results)(Runtime& runtime, const Record& record, const Operator& op,
                           PyObject* result);
  // The same for a kernel with a rule, which is asked of the call's arguments as they were given.
  Owned (*convert_ruled_results)(Runtime& runtime, const Record& record, const Operator& op,
                                 PyObject* const* args, std::size_t count, PyObject* names,
                                 PyObject* result);
};
struct HandlerCalls {
  // Asks the modes of this thread, then the classes of the arguments. These are ready: what a
  // handler gets.
  HandlerAnswer (*ask)(Runtime& runtime, PyObject* overload, PyObject* const* args,
                       std::size_t count, PyObject* names);
  // An answer by way of the stack: converted and checked as a boxed call does it.
  Owned (*convert_answer)(Runtime& runtime, const Operator& op, const HandlerAnswer& answer);
};

}  // namespace opyard::python
