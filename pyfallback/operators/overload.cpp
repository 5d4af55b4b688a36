// operators/overload.cpp: calling one operator from Python.
#include "operators/overload.h"

#include <cxxabi.h>
#include <structmember.h>

#include "objects/values/key_set.h"
#include "operators/explanation.h"
#include "operators/named_refusal.h"
#include "opyard/inspect/inspect.h"
#include "opyard/registry/next.h"
#include "opyard/registry/registry.h"
#include "runtime/gil.h"
#include "runtime/hooks.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

OverloadObject& overload_of(PyObject* self) { return *reinterpret_cast<OverloadObject*>(self); }
const Operator& op_of(PyObject* self) { return overload_of(self).plan->op(); }
Runtime& runtime_of_overload(PyObject* self) { return *overload_of(self).runtime; }

// These two have what they need of the C stack in frames of their own (test_depth.py).
[[gnu::noinline]] PyObject* call_through_stack(Runtime& runtime, const CallPlan& plan,
                                               PyObject* const* args, Py_ssize_t count,
                                               PyObject* names) {
  const CalledFromPython called(runtime);
  PythonCall call(runtime, {args, count, names});
  plan.require(call);
  return plan.call(call);
}

[[noreturn]] OPYARD_COLD void name_refusal(const Operator& op, const Error& error,
                                           PyObject* const* args, Py_ssize_t count,
                                           PyObject* names) {
  rethrow_named(op, error, {args, count, names});
}

// See operators/direct_call.cpp, [Places].
[[gnu::aligned(64)]] PyObject* call_overload(PyObject* self, PyObject* const* args,
                                             std::size_t flags, PyObject* names) {
  return enter_from_python([&]() OPYARD_CATCHES_FORCED_UNWIND {
    Runtime& runtime = runtime_of_overload(self);
    const CallPlan& plan = plan_of(self);
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    try {
      if (PyObject* const result = plan.direct().try_call(runtime, self, args, flags, names))
        return result;
      return call_through_stack(runtime, plan, args, count, names);
    } catch (const Error& error) {
      name_refusal(plan.op(), error, args, count, names);
    } catch (abi::__forced_unwind&) {
      throw;
    } catch (const PythonErrorSet&) {
      throw;
    } catch (...) {
      rethrow_foreign(plan.op().name().name);
    }
  });
}

// op._call_boxed(*args, **kwargs): always through the stack, for tests that compare both ways.
PyObject* call_boxed(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return enter_from_python([&] {
    return call_through_stack(runtime_of_overload(self), plan_of(self), args, count, names);
  });
}

// op.redispatch(keyset, *args, **kwargs)
PyObject* redispatch(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return enter_from_python([&] {
    Runtime& runtime = runtime_of_overload(self);
    if (count < 1 || !is_key_set(runtime, args[0])) {
      fail(ErrorKind::BadArgument, "redispatch() takes a DispatchKeySet first");
    }
    const DispatchKeySet keys = to_key_set(runtime, args[0]);
    const CallPlan& plan = plan_of(self);
    PythonCall call(runtime, GivenArguments{args, count, names}.behind(1));
    plan.require(call);
    plan.before_call(call);
    plan.op().redispatch_boxed(keys, call.stack);
    return take_results(plan.op(), call);
  });
}

// The key, and what a set has below it: with a higher backend in it, it would lead past the key.
DispatchKeySet keys_at(DispatchKeySet given, DispatchKey key) {
  DispatchKeySet keys =
      (given & DispatchKeySet(DispatchKeySet::FULL_AFTER, key)) | DispatchKeySet(key);
  for (auto backend = backend_of(key); backend && keys.highest_backend() != backend;) {
    keys = keys.remove_backend(*keys.highest_backend());
  }
  return keys;
}

// op._call_at(key, keyset, *args, **kwargs): runs the kernel at one key, whatever keys the
// arguments carry. The kernel gets the key and what `keyset`, or with None the call's own set, has
// below it.
PyObject* call_at(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return enter_from_python([&] {
    Runtime& runtime = runtime_of_overload(self);
    if (count < 2) fail(ErrorKind::BadArgument, "_call_at() takes a key and a key set first");
    const DispatchKey key = to_dispatch_key(args[0]);
    const CallPlan& plan = plan_of(self);
    const Operator& op = plan.op();
    PythonCall call(runtime, GivenArguments{args, count, names}.behind(2));
    if (args[1] == Py_None) {
      plan.require(call);
      plan.before_call(call);
      op.call_boxed_at(key, call.stack);
      return take_results(op, call);
    }
    const DispatchKeySet at(key);
    const DispatchKeySet keys = keys_at(to_key_set(runtime, args[1]), key);
    plan.require(call);
    plan.before_call(call);
    detail::enter_thread();
    const detail::CallDepth depth;
    op.run_boxed(op.record(at), keys, call.stack);
    return take_results(op, call);
  });
}

// op._place_at(key): (key, order) of the kernel that serves a key, for _call_pinned(); None if
// that is built in.
PyObject* kernel_place_at(PyObject* self, PyObject* key_object) {
  return enter_from_python([&] {
    const auto place = serving_place(op_of(self), to_dispatch_key(key_object));
    if (!place) return Owned::share(Py_None).release();
    return checked(Py_BuildValue("iK", int(place->key), place->order)).release();
  });
}

// op._call_pinned(place, key, keyset, *args, **kwargs): as _call_at(), but runs the kernel of a
// place, whatever is on top of it.
PyObject* call_pinned_at(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return enter_from_python([&] {
    Runtime& runtime = runtime_of_overload(self);
    int place_key = 0;
    unsigned long long order = 0;
    if (count < 3 || PyTuple_Check(args[0]) == 0) {
      fail(ErrorKind::BadArgument, "_call_pinned() takes a place, a key and a key set first");
    }
    if (PyArg_ParseTuple(args[0], "iK", &place_key, &order) == 0) throw PythonErrorSet();
    const DispatchKey key = to_dispatch_key(args[1]);
    const CallPlan& plan = plan_of(self);
    PythonCall call(runtime, GivenArguments{args, count, names}.behind(3));
    plan.require(call);
    const DispatchKeySet given =
        args[2] == Py_None
            ? plan.op().call_keys(call.stack.top(plan.op().schema().arguments.size()))
            : to_key_set(runtime, args[2]);
    plan.before_call(call);
    call_pinned(plan.op(), {DispatchKey(place_key), order}, keys_at(given, key), call.stack);
    return take_results(plan.op(), call);
  });
}

// op._explain(*args, **kwargs): a dictionary for opyard.dispatch.explain().
PyObject* explain_call(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return enter_from_python([&] {
    Runtime& runtime = runtime_of_overload(self);
    PythonCall call(runtime, {args, count, names});
    plan_of(self).require(call);
    const Explanation explanation =
        explain(op_of(self), call.stack.top(op_of(self).schema().arguments.size()));
    return to_python(runtime, explanation).release();
  });
}

PyObject* has_kernel(PyObject* self, PyObject* key_object) {
  return enter_from_python([&]() -> PyObject* {
    const DispatchKey key = to_dispatch_key(key_object);
    for (const DispatchKey at : inspect::keys_with_kernel(op_of(self))) {
      if (at == key) Py_RETURN_TRUE;
    }
    Py_RETURN_FALSE;
  });
}

// Calls a function of the package with the operator first.
PyObject* call_hook(const char* hook, PyObject* self, PyObject* const* args, Py_ssize_t count,
                    PyObject* names) {
  return enter_from_python([&] {
    PyObject* const make = require_hook(runtime_of_overload(self), hook);
    std::vector<PyObject*> all{self};
    all.insert(all.end(), args, args + count + (names == nullptr ? 0 : PyTuple_GET_SIZE(names)));
    return PyObject_Vectorcall(make, all.data(), std::size_t(count) + 1, names);
  });
}

// op.c_function(form="Standard"): see opyard.library.CFunction, which the hook makes.
PyObject* c_function(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return call_hook(hook::c_function, self, args, count, names);
}

// op.py_impl(where, *, with_keyset=False, lib=None): see opyard/_library/py_impl.py.
PyObject* py_impl(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return call_hook(hook::py_impl, self, args, count, names);
}

// op.decompose(*args, **kwargs)
PyObject* decompose(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return call_hook(hook::decompose, self, args, count, names);
}

PyObject* has_kernel_for_any(PyObject* self, PyObject* keys) {
  return call_hook(hook::has_kernel_for_any, self, &keys, 1, nullptr);
}

PyObject* overload_from_hook(PyObject* self, void* hook) {
  return call_hook(static_cast<const char*>(hook), self, nullptr, 0, nullptr);
}

// "add.Tensor", "neg.default"
PyObject* overload_name(PyObject* self, void*) {
  return enter_from_python([&] {
    const OperatorName& name = op_of(self).name();
    return to_text(std::string(name.base_name()) + "." +
                   (name.overload.empty() ? "default" : name.overload))
        .release();
  });
}
PyObject* overload_module(PyObject* self, void*) {
  return enter_from_python([&] {
    return to_text("opyard.ops." + std::string(op_of(self).name().name_space())).release();
  });
}
PyObject* get_itself(PyObject* self, void*) { return Owned::share(self).release(); }

PyObject* overload_full_name(PyObject* self, PyObject*) {
  return enter_from_python([&] { return to_text(to_string(op_of(self).name())).release(); });
}

// "ns.name.overload", as it is reached from opyard.ops.
std::string overload_path(PyObject* self) {
  const OperatorName& name = op_of(self).name();
  return std::string(name.name_space()) + "." + std::string(name.base_name()) + "." +
         (name.overload.empty() ? "default" : name.overload);
}

PyObject* overload_str(PyObject* self) {
  return enter_from_python([&] { return to_text(overload_path(self)).release(); });
}

PyObject* represent_overload(PyObject* self) {
  return enter_from_python([&] {
    const OperatorName& name = op_of(self).name();
    return to_text("<OpOverload(op='" + std::string(name.name_space()) + "." +
                   std::string(name.base_name()) + "', overload='" +
                   (name.overload.empty() ? "default" : name.overload) + "')>")
        .release();
  });
}

PyObject* get_namespace(PyObject* self, void*) {
  return enter_from_python([&] { return to_text(op_of(self).name().name_space()).release(); });
}
PyObject* get_overload_name(PyObject* self, void*) {
  return enter_from_python([&] {
    const std::string& overload = op_of(self).name().overload;
    return to_text(overload.empty() ? "default" : overload).release();
  });
}
PyObject* get_declaration(PyObject* self, void*) {
  return enter_from_python([&] { return to_text(op_of(self).declaration()).release(); });
}
PyObject* get_schema(PyObject* self, void*) {
  return enter_from_python([&] {
    return PyObject_CallFunction(require_hook(runtime_of_overload(self), hook::schema), "s",
                                 op_of(self).declaration().c_str());
  });
}
PyObject* get_is_view(PyObject* self, void*) {
  return PyBool_FromLong(op_of(self).schema().is_view() ? 1 : 0);
}
PyObject* get_packet(PyObject* self, void*) {
  return enter_from_python([&] {
    Runtime& runtime = runtime_of_overload(self);
    return require(runtime, PyObject_CallFunction(require_hook(runtime, hook::packet), "s",
                                                  op_of(self).name().name.c_str()))
        .release();
  });
}
PyObject* get_tags(PyObject* self, void*) {
  return enter_from_python([&] {
    Runtime& runtime = runtime_of_overload(self);
    Owned list = checked(PyList_New(0));
    for (const std::string& name : inspect::tags(op_of(self).name())) {
      const Owned tag = require(
          runtime, PyObject_CallOneArg(require_hook(runtime, hook::tag), to_text(name).get()));
      if (PyList_Append(list.get(), tag.get()) < 0) throw PythonErrorSet();
    }
    return list.release();
  });
}

// Pickled by name, and found again by the hook "overload".
PyObject* reduce_overload(PyObject* self, PyObject*) {
  return enter_from_python([&] {
    PyObject* const find = require_hook(runtime_of_overload(self), hook::overload);
    return checked(Py_BuildValue("O(s)", find, to_string(op_of(self).name()).c_str())).release();
  });
}

PyObject* same_overload(PyObject* self, PyObject*) { return Owned::share(self).release(); }

// Every circle goes through a dictionary or a type as well, which is taken apart.
int traverse_overload(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(overload_of(self).class_rules);
  Py_VISIT(overload_of(self).dispatch_cache);
  return 0;
}

void deallocate_overload(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (overload_of(self).weak_references != nullptr) PyObject_ClearWeakRefs(self);
  Py_CLEAR(overload_of(self).class_rules);
  Py_CLEAR(overload_of(self).dispatch_cache);
  delete overload_of(self).plan;
  free_object(self);
}

PyMethodDef overload_methods[] = {
    {"name", overload_full_name, METH_NOARGS,
     "name($self, /)\n--\n\n'ns::name' or 'ns::name.overload'."},
    {"redispatch", method(redispatch), METH_FASTCALL | METH_KEYWORDS,
     "redispatch($self, keyset, /, *args, **kwargs)\n--\n\nCalls from the given key set on."},
    {"has_kernel_for_dispatch_key", has_kernel, METH_O,
     "has_kernel_for_dispatch_key($self, key, /)\n--\n\nWhether a kernel is registered at exactly "
     "this "
     "key."},
    {"has_kernel_for_any_dispatch_key", has_kernel_for_any, METH_O,
     "has_kernel_for_any_dispatch_key($self, keys, /)\n--\n\nWhether a kernel is registered at a "
     "key of "
     "the set."},
    {"decompose", method(decompose), METH_FASTCALL | METH_KEYWORDS,
     "decompose($self, /, *args, **kwargs)\n--\n\nWhat its kernel of CompositeImplicitAutograd "
     "gives, "
     "which is made of other operators; NotImplemented if it has none."},
    {"c_function", method(c_function), METH_FASTCALL | METH_KEYWORDS,
     "c_function($self, /, form='Standard')\n--\n\nThis operator as a plain C function; see "
     "opyard.library.CFunction."},
    {"py_impl", method(py_impl), METH_FASTCALL | METH_KEYWORDS,
     "py_impl($self, where, /, *, with_keyset=False, lib=None)\n--\n\nA decorator that registers a "
     "function at a key, or for a class of modes or tensors; a second one for the same place "
     "replaces the first, unless they belong to different libraries; see opyard.dispatch."},
    {"_call_boxed", method(call_boxed), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"_call_at", method(call_at), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"_place_at", kernel_place_at, METH_O, nullptr},
    {"_call_pinned", method(call_pinned_at), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"_explain", method(explain_call), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"__reduce__", reduce_overload, METH_NOARGS, nullptr},
    {"__copy__", same_overload, METH_NOARGS, nullptr},
    {"__deepcopy__", same_overload, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef overload_properties[] = {
    {"namespace", get_namespace, nullptr, "the part of the name before '::'", nullptr},
    {"overload_name", get_overload_name, nullptr, "the overload, 'default' for the unnamed one",
     nullptr},
    {"__name__", overload_name, nullptr, "'add.Tensor': the name without namespace", nullptr},
    {"__qualname__", overload_name, nullptr, "the same", nullptr},
    {"__module__", overload_module, nullptr, "'opyard.ops.ns'", nullptr},
    {"op", get_itself, nullptr, "what calls it: the operator itself", nullptr},
    {"_defined_in_python", overload_from_hook, nullptr, "whether a Library of Python defines it",
     const_cast<char*>(hook::defined_in_python)},
    {"__signature__", overload_from_hook, nullptr, "for inspect.signature()",
     const_cast<char*>(hook::signature)},
    {"__annotations__", overload_from_hook, nullptr, "the Python types of arguments and result",
     const_cast<char*>(hook::annotations)},
    {"declaration", get_declaration, nullptr, "the schema as text", nullptr},
    {"_schema", get_schema, nullptr, "the schema, as opyard.schema.parse() gives it", nullptr},
    {"is_view", get_is_view, nullptr, "whether a result is a view of an argument", nullptr},
    {"overloadpacket", get_packet, nullptr, "the packet with all overloads of this name", nullptr},
    {"tags", get_tags, nullptr,
     "the tags given with the definition, in order; a str if none of Tag is called so", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef overload_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OverloadObject, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(OverloadObject, weak_references), READONLY,
     nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot overload_slots[] = {
    {Py_tp_doc, const_cast<char*>("One operator: opyard.ops.<namespace>.<name>.<overload>.")},
    {Py_tp_call, slot(PyVectorcall_Call)},
    {Py_tp_traverse, slot(traverse_overload)},
    {Py_tp_dealloc, slot(deallocate_overload)},
    {Py_tp_str, slot(overload_str)},
    {Py_tp_repr, slot(represent_overload)},
    {Py_tp_methods, overload_methods},
    {Py_tp_getset, overload_properties},
    {Py_tp_members, overload_members},
    {0, nullptr}};

PyType_Spec overload_spec = {"opyard.OpOverload", sizeof(OverloadObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                 Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             overload_slots};

}  // namespace

Owned make_overload(Runtime& runtime, const Operator& op) {
  auto plan = std::make_unique<CallPlan>(runtime, op);
  Owned object = require(runtime, runtime.overload_type->tp_alloc(runtime.overload_type, 0));
  OverloadObject& overload = overload_of(object.get());
  overload.vectorcall = call_overload;
  overload.runtime = &runtime;
  overload.plan = plan.release();
  return object;
}

void add_overload_type(Runtime& runtime, PyObject* module) {
  add_type(module, overload_spec, runtime.overload_type);
}

}  // namespace opyard::python
