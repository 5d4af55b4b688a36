// operators/op_caller.cpp: handing a call over to an operator.
#include "operators/op_caller.h"

#include <structmember.h>

#include "operators/overload.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

struct OpCallerObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* overload;  // null until _bind()
};

OpCallerObject& caller_of(PyObject* self) { return *reinterpret_cast<OpCallerObject*>(self); }

PyObject* call_op_caller(PyObject* self, PyObject* const* args, std::size_t flags,
                         PyObject* names) {
  PyObject* const overload = caller_of(self).overload;
  if (__builtin_expect(overload == nullptr, 0)) {
    PyErr_Format(PyExc_RuntimeError, "this %s was given no operator", Py_TYPE(self)->tp_name);
    return nullptr;
  }
  return overload_object_of(overload).vectorcall(overload, args, flags, names);
}

PyObject* make_op_caller(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* const self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  inherit_vectorcall(type);
  caller_of(self).vectorcall = call_op_caller;
  return self;
}

// _bind(op): says once whose calls are made.
PyObject* bind(PyObject* self, PyTypeObject* owner, PyObject* const* args, Py_ssize_t count,
               PyObject*) {
  return enter_from_python([&]() -> PyObject* {
    if (count != 1 || !is_overload(runtime_of(owner), args[0])) {
      fail(ErrorKind::BadArgument, "_bind() takes an operator of opyard.ops");
    }
    Py_INCREF(args[0]);
    Py_XSETREF(caller_of(self).overload, args[0]);
    Py_RETURN_NONE;
  });
}

void deallocate_op_caller(PyObject* self) {
  Py_CLEAR(caller_of(self).overload);
  free_object(self);
}

PyMethodDef op_caller_methods[] = {
    {"_bind", method(bind), METH_METHOD | METH_FASTCALL | METH_KEYWORDS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef op_caller_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OpCallerObject, vectorcall), READONLY, nullptr},
    {"op", T_OBJECT, offsetof(OpCallerObject, overload), READONLY,
     "the operator that calls go to, of opyard.ops"},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot op_caller_slots[] = {
    {Py_tp_doc, const_cast<char*>("An object whose calls are an operator's.")},
    {Py_tp_new, slot(make_op_caller)},
    {Py_tp_call, slot(PyVectorcall_Call)},
    {Py_tp_dealloc, slot(deallocate_op_caller)},
    {Py_tp_methods, op_caller_methods},
    {Py_tp_members, op_caller_members},
    {0, nullptr}};

PyType_Spec op_caller_spec = {"opyard._C.OpCaller", sizeof(OpCallerObject), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL,
                              op_caller_slots};

}  // namespace

void add_op_caller_type(PyObject* module) {
  PyTypeObject* type = nullptr;
  add_type(module, op_caller_spec, type);
  Py_DECREF(type);  // the module keeps it
}

}  // namespace opyard::python
