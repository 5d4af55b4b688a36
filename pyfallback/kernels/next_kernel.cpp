// kernels/next_kernel.cpp: call_next in Python.
#include "kernels/next_kernel.h"

#include <structmember.h>

#include "kernels/call_arguments.h"
#include "kernels/python_kernel.h"
#include "kernels/results.h"
#include "objects/tensor/leak_check.h"
#include "objects/values/key_set.h"
#include "operators/kernel_notes.h"
#include "operators/overload.h"
#include "operators/packet.h"
#include "opyard/detail/schema/declared_writes.h"
#include "opyard/registry/next.h"
#include "runtime/enter_python.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

// call_next, as a function gets it.
struct CallNext {
  PyObject_HEAD vectorcallfunc vectorcall;
  Runtime* runtime;
  PyObject* overload;  // the operator's object
  KernelPlace place;
  DispatchKeySet keys;
};

CallNext& call_next_of(PyObject* self) { return *reinterpret_cast<CallNext*>(self); }

PyObject* call_next_kernel(PyObject* self, PyObject* const* args, std::size_t flags,
                           PyObject* names) {
  return enter_from_python([&] {
    const CallNext& next = call_next_of(self);
    const CallPlan& plan = plan_of(next.overload);
    PythonCall call(*next.runtime, {args, PyVectorcall_NARGS(flags), names});
    plan.require(call);
    plan.before_call(call);
    call_next(plan.op(), next.place, next.keys, call.stack);
    return take_results(plan.op(), call);
  });
}

Owned make_call_next(Runtime& runtime, const Owned& overload, KernelPlace place,
                     DispatchKeySet keys) {
  PyTypeObject* const type = runtime.call_next_type;
  Owned object = require(runtime, type->tp_alloc(type, 0));
  CallNext& next = call_next_of(object.get());
  next.vectorcall = call_next_kernel;
  next.runtime = &runtime;
  next.overload = Owned::share(overload.get()).release();
  next.place = place;
  next.keys = keys;
  return object;
}

struct NextKernel {
  Runtime& runtime;
  PyObject* const function;
  const bool with_keyset;
  const GcVisibleFunction shown;
  // The operator that was called last, and its object. With the GIL held.
  mutable const Operator* op = nullptr;
  mutable PyObject* overload = nullptr;
};

void destroy_next_kernel(void* context) {
  const std::unique_ptr<NextKernel> kernel(static_cast<NextKernel*>(context));
  if (leak_check != nullptr) leak_check->remove(context);
  kernel->shown->store(nullptr, std::memory_order_release);
  kernel->runtime.tag->decref(kernel->function, false);
  if (kernel->overload != nullptr) kernel->runtime.tag->decref(kernel->overload, false);
}

Owned next_kernel_overload(const NextKernel& kernel, const Operator& op) {
  if (kernel.op != &op) {
    Owned object = overload_object(kernel.runtime, op);
    const Owned former = Owned::steal(std::exchange(kernel.overload, object.release()));
    kernel.op = &op;
  }
  return Owned::share(kernel.overload);
}

[[gnu::noinline]] void call_next_kernel_function(const Record& record, const Operator& op,
                                                 DispatchKeySet keys, Stack& stack) {
  const NextKernel& kernel = *static_cast<const NextKernel*>(record.context);
  Runtime& runtime = kernel.runtime;
  enter_python(runtime, [&] {
    const std::span<Value> values = stack.top(op.schema().arguments.size());
    const DeclaredWrites counted(op.schema(), values);
    CallArguments arguments(values.size() + 2);
    if (kernel.with_keyset) arguments.add(wrap(runtime, keys));
    arguments.add(
        make_call_next(runtime, next_kernel_overload(kernel, op), place_of(record), keys));
    std::size_t by_position = 0;
    const Owned names = add_arguments(runtime, op.schema(), values, arguments, by_position);
    PyObject* const returned = in_python([&] {
      return PyObject_Vectorcall(kernel.function, arguments.data(),
                                 by_position | PY_VECTORCALL_ARGUMENTS_OFFSET, names.get());
    });
    const Owned result = require(runtime, noting_failure(record, op, kernel.function, returned));
    stack.drop(values.size());
    const Returner returner{[](const void* who) {
                              return "the Python kernel " +
                                     static_cast<const Record*>(who)->provenance.str();
                            },
                            &record};
    push_results(runtime, returner, op, result.get(), stack);
  });
}

void run_next_kernel(const Record& record, const Operator& op, DispatchKeySet keys, Stack& stack) {
  const NextKernel& kernel = *static_cast<const NextKernel*>(record.context);
  Interpreter& tag = *kernel.runtime.tag;
  const InterpreterVTable& table = tag.vtable();
  if (&table == &disarmed_vtable()) return call_next_kernel_function(record, op, keys, stack);
  leave_for_trampoline(record, &call_next_kernel_function);
  table.python_op_registration_trampoline(tag, op, record.key, keys, stack, kernel.with_keyset,
                                          false);
}

PyObject* get_op(PyObject* self, void*) {
  return Owned::share(call_next_of(self).overload).release();
}

PyObject* get_keyset(PyObject* self, void*) {
  return enter_from_python([&] {
    const CallNext& next = call_next_of(self);
    return wrap(*next.runtime, next.keys).release();
  });
}

PyObject* represent_next_kernel(PyObject* self) {
  return enter_from_python([&] {
    const CallNext& next = call_next_of(self);
    return to_text("<call_next of " + to_string(plan_of(next.overload).op().name()) + " below " +
                   to_string(next.place.key) + ">")
        .release();
  });
}

void deallocate_next_kernel(PyObject* self) {
  Py_CLEAR(call_next_of(self).overload);
  free_object(self);
}

PyGetSetDef next_kernel_properties[] = {
    {"op", get_op, nullptr, "the operator that was called", nullptr},
    {"keyset", get_keyset, nullptr, "the keys of the call, with which the next kernel is called",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef next_kernel_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(CallNext, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot next_kernel_slots[] = {
    {Py_tp_doc, const_cast<char*>(
                    "What a kernel with with_next=True gets: call_next(*args, **kwargs) calls the "
                    "kernel that it covers.")},
    {Py_tp_call, slot(PyVectorcall_Call)},
    {Py_tp_dealloc, slot(deallocate_next_kernel)},
    {Py_tp_repr, slot(represent_next_kernel)},
    {Py_tp_getset, next_kernel_properties},
    {Py_tp_members, next_kernel_members},
    {0, nullptr}};

PyType_Spec next_kernel_spec = {
    "opyard._C.CallNext", sizeof(CallNext), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    next_kernel_slots};

}  // namespace

Kernel make_next_kernel(Runtime& runtime, PyObject* function, bool with_keyset,
                        GcVisibleFunction shown) {
  auto kernel =
      std::unique_ptr<NextKernel>(new NextKernel{runtime, function, with_keyset, std::move(shown)});
  Kernel made = Kernel::with_context(&run_next_kernel, kernel.get(), &destroy_next_kernel);
  Py_INCREF(function);
  kernel->shown->store(function, std::memory_order_release);
  const NextKernel* const context = kernel.release();
  if (leak_check != nullptr) {
    leak_check->add(LeakCheck::Kind::Function, context, name_of_function(function));
  }
  return made;
}

void add_call_next_type(Runtime& runtime, PyObject* module) {
  add_type(module, next_kernel_spec, runtime.call_next_type);
}

}  // namespace opyard::python
