// objects/tensor/bound_method.cpp: making, calling and asking bound methods.
//
// [Free list] A dead method's memory waits for the next one, as a dead tensor's does
// (tensor_life.cpp). A method that is called lives as long as the call, so a few are enough for
// calls that are arguments of each other.
#include "objects/tensor/bound_method.h"

#include <structmember.h>

#include <utility>

#include "opyard/detail/base/small_vector.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

struct BoundMethod {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* self;
  Runtime* runtime;  // the collector may have taken the type apart when a method dies
  PyObject* weak_references;
};

BoundMethod& method_of(PyObject* object) { return *reinterpret_cast<BoundMethod*>(object); }

PyObject* call_function(const BoundMethod& method, PyObject* const* args, std::size_t count,
                        PyObject* names) {
  if (__builtin_expect(names == nullptr, 1)) {
    return PyObject_Vectorcall(method.function, args, count, nullptr);
  }
  return method.runtime->call_method_by_names(*method.runtime, method.function, args, count, names);
}

// The caller's place in front of the arguments is for `self`, if there is one.
PyObject* call_bound_method(PyObject* callable, PyObject* const* args, std::size_t flags,
                            PyObject* names) {
  const BoundMethod& method = method_of(callable);
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  if ((flags & PY_VECTORCALL_ARGUMENTS_OFFSET) != 0) {
    auto** const given = const_cast<PyObject**>(args) - 1;
    PyObject* const before = std::exchange(*given, method.self);
    PyObject* const result = call_function(method, given, std::size_t(count) + 1, names);
    *given = before;
    return result;
  }
  const Py_ssize_t all = count + (names == nullptr ? 0 : PyTuple_GET_SIZE(names));
  SmallVector<PyObject*, 8> given;
  given.push_back(method.self);
  for (Py_ssize_t i = 0; i < all; ++i) given.push_back(args[i]);
  return call_function(method, given.data(), std::size_t(count) + 1, names);
}

int traverse_bound_method(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(method_of(self).function);
  Py_VISIT(method_of(self).self);
  return 0;
}

void deallocate_bound_method(PyObject* object) {
  PyObject_GC_UnTrack(object);
  BoundMethod& method = method_of(object);
  if (method.weak_references != nullptr) PyObject_ClearWeakRefs(object);
  Runtime& runtime = *method.runtime;
  Py_DECREF(std::exchange(method.function, nullptr));
  Py_DECREF(std::exchange(method.self, nullptr));
  if (runtime.free_method_count < runtime.most_free_methods) {
    runtime.free_methods[runtime.free_method_count++] = object;
  } else {
    free_object(object);
  }
}

PyObject* represent_bound_method(PyObject* object) {
  const BoundMethod& method = method_of(object);
  const Owned name = Owned::steal(PyObject_GetAttrString(method.function, "__name__"));
  if (!name) return nullptr;
  return PyUnicode_FromFormat("<bound method %U of %R>", name.get(), method.self);
}

PyObject* compare_bound_methods(PyObject* a, PyObject* b, int how) {
  if ((how != Py_EQ && how != Py_NE) || Py_TYPE(a) != Py_TYPE(b)) Py_RETURN_NOTIMPLEMENTED;
  const bool same =
      method_of(a).function == method_of(b).function && method_of(a).self == method_of(b).self;
  return PyBool_FromLong(same == (how == Py_EQ) ? 1 : 0);
}
Py_hash_t hash_bound_method(PyObject* object) {
  const auto of = [](PyObject* part) { return reinterpret_cast<std::uintptr_t>(part) / 16; };
  return Py_hash_t((of(method_of(object).function) * 31 + of(method_of(object).self)) >> 1);
}

// As inspect finds it of Python's own bound methods.
PyObject* signature_of(const BoundMethod& method) {
  const Owned inspect = Owned::steal(PyImport_ImportModule("inspect"));
  const Owned bound = Owned::steal(PyMethod_New(method.function, method.self));
  if (!inspect || !bound) return nullptr;
  return PyObject_CallMethod(inspect.get(), "signature", "O", bound.get());
}

// Its own, what every object has, and everything else from the function.
PyObject* bound_method_attribute(PyObject* object, PyObject* name) {
  if (!PyUnicode_Check(name)) return PyObject_GenericGetAttr(object, name);
  if (PyUnicode_CompareWithASCIIString(name, "__signature__") == 0) {
    return signature_of(method_of(object));
  }
  PyObject* const own = lookup_on_type(Py_TYPE(object), name);
  const bool is_of_function =
      own == nullptr || PyUnicode_CompareWithASCIIString(name, "__module__") == 0;
  return is_of_function ? PyObject_GetAttr(method_of(object).function, name)
                        : PyObject_GenericGetAttr(object, name);
}

// For pickle: getattr(tensor, name).
PyObject* reduce_bound_method(PyObject* object, PyObject*) {
  const BoundMethod& method = method_of(object);
  const Owned builtins = Owned::steal(PyImport_ImportModule("builtins"));
  if (!builtins) return nullptr;
  const Owned getattr = Owned::steal(PyObject_GetAttrString(builtins.get(), "getattr"));
  const Owned name = Owned::steal(PyObject_GetAttrString(method.function, "__name__"));
  if (!getattr || !name) return nullptr;
  return Py_BuildValue("O(OO)", getattr.get(), method.self, name.get());
}

// It is bound already, also as an attribute of a class. Tools take what has this for a routine.
PyObject* bind_again(PyObject* object, PyObject*, PyObject*) { return Py_NewRef(object); }

PyObject* get_doc(PyObject* object, void*) {
  return PyObject_GetAttrString(method_of(object).function, "__doc__");
}

PyGetSetDef bound_method_properties[] = {{"__doc__", get_doc, nullptr, nullptr, nullptr},
                                         {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef bound_method_members[] = {
    {"__self__", T_OBJECT, offsetof(BoundMethod, self), READONLY, "The tensor."},
    {"__func__", T_OBJECT, offsetof(BoundMethod, function), READONLY,
     "What is called, with the tensor first."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(BoundMethod, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(BoundMethod, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

// As of Python's own: of the same function, with a copy of the tensor.
PyObject* deepcopy(PyObject* object, PyObject* memo) {
  const BoundMethod& method = method_of(object);
  const Owned copy = Owned::steal(PyImport_ImportModule("copy"));
  if (!copy) return nullptr;
  const Owned self =
      Owned::steal(PyObject_CallMethod(copy.get(), "deepcopy", "OO", method.self, memo));
  return self ? bind_method(*method.runtime, method.function, self.get()) : nullptr;
}

// type(method)(function, tensor), which weakref.WeakMethod calls.
PyObject* construct_bound_method(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject *function = nullptr, *self = nullptr;
  if (kwargs != nullptr && PyDict_GET_SIZE(kwargs) > 0) {
    PyErr_SetString(PyExc_TypeError, "a bound method takes a function and a tensor, and no names");
    return nullptr;
  }
  if (PyArg_UnpackTuple(args, "BoundMethod", 2, 2, &function, &self) == 0) return nullptr;
  if (PyCallable_Check(function) == 0) {
    PyErr_Format(PyExc_TypeError, "the first argument is a function, not %R", function);
    return nullptr;
  }
  return bind_method(runtime_of(type), function, self);
}

PyMethodDef bound_method_methods[] = {{"__deepcopy__", deepcopy, METH_O, nullptr},
                                      {"__reduce__", reduce_bound_method, METH_NOARGS, nullptr},
                                      {nullptr, nullptr, 0, nullptr}};

PyType_Slot bound_method_slots[] = {{Py_tp_new, slot(construct_bound_method)},
                                    {Py_tp_call, slot(PyVectorcall_Call)},
                                    {Py_tp_traverse, slot(traverse_bound_method)},
                                    {Py_tp_dealloc, slot(deallocate_bound_method)},
                                    {Py_tp_repr, slot(represent_bound_method)},
                                    {Py_tp_richcompare, slot(compare_bound_methods)},
                                    {Py_tp_hash, slot(hash_bound_method)},
                                    {Py_tp_getattro, slot(bound_method_attribute)},
                                    {Py_tp_descr_get, slot(bind_again)},
                                    {Py_tp_members, bound_method_members},
                                    {Py_tp_getset, bound_method_properties},
                                    {Py_tp_methods, bound_method_methods},
                                    {0, nullptr}};

PyType_Spec bound_method_spec = {
    "opyard._C.BoundMethod", sizeof(BoundMethod), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
    bound_method_slots};

}  // namespace

void add_bound_method_type(PyObject* module, Runtime& runtime) {
  if (runtime.bound_method_type != nullptr) return;
  const Owned type = checked(PyType_FromModuleAndSpec(module, &bound_method_spec, nullptr));
  runtime.bound_method_type = reinterpret_cast<PyTypeObject*>(Owned::share(type.get()).release());
}

PyObject* bind_method(Runtime& runtime, PyObject* function, PyObject* self) noexcept {
  BoundMethod* method = nullptr;
  if (runtime.free_method_count > 0) {
    method = &method_of(runtime.free_methods[--runtime.free_method_count]);
    revive(reinterpret_cast<PyObject*>(method));
  } else {
    method = PyObject_GC_New(BoundMethod, runtime.bound_method_type);
    if (method == nullptr) return nullptr;
    method->vectorcall = &call_bound_method;
    method->runtime = &runtime;
    method->weak_references = nullptr;
  }
  method->function = Py_NewRef(function);
  method->self = Py_NewRef(self);
  PyObject_GC_Track(method);
  return reinterpret_cast<PyObject*>(method);
}

void drop_free_methods(Runtime& runtime) noexcept {
  runtime.most_free_methods = 0;
  while (runtime.free_method_count > 0) {
    PyObject_GC_Del(runtime.free_methods[--runtime.free_method_count]);
    Py_DECREF(runtime.bound_method_type);
  }
}

}  // namespace opyard::python
