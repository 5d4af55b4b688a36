// objects/name_space.cpp: attributes that are found once and then kept.
//
// A type of our own, since a class in Python with a __getattr__ looks through its bases first, at every
// access (bench row path).
#include "objects/name_space.h"

#include <structmember.h>

#include "runtime/types.h"

namespace opyard::python {
namespace {

struct NameSpaceObject {
  PyObject_HEAD PyObject* kept;  // a dictionary, or null
  PyObject* weak_references;
};

NameSpaceObject& name_space_of(PyObject* self) { return *reinterpret_cast<NameSpaceObject*>(self); }

PyObject* get_attribute(PyObject* self, PyObject* name) {
  PyObject* const kept = name_space_of(self).kept;
  if (kept != nullptr) {
    if (PyObject* const found = PyDict_GetItemWithError(kept, name)) {
      Py_INCREF(found);
      return found;
    }
    if (PyErr_Occurred() != nullptr) return nullptr;
  }
  PyObject* const found = PyObject_GenericGetAttr(self, name);
  if (found != nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) return found;
  PyErr_Clear();
  return entry_from_python([&] {
    const Owned find =
        checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(self)), "_find"));
    return PyObject_CallFunctionObjArgs(find.get(), self, name, nullptr);
  });
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(name_space_of(self).kept);
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(name_space_of(self).kept);
  return 0;
}

void deallocate(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (name_space_of(self).weak_references != nullptr) PyObject_ClearWeakRefs(self);
  Py_CLEAR(name_space_of(self).kept);
  free_object(self);
}

PyGetSetDef properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(NameSpaceObject, kept), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(NameSpaceObject, weak_references), READONLY,
     nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>("Attributes that _find(name) finds once.")},
                       {Py_tp_getattro, slot(get_attribute)},
                       {Py_tp_traverse, slot(traverse)},
                       {Py_tp_clear, slot(clear)},
                       {Py_tp_dealloc, slot(deallocate)},
                       {Py_tp_getset, properties},
                       {Py_tp_members, members},
                       {0, nullptr}};

PyType_Spec spec = {"opyard.NameSpace", sizeof(NameSpaceObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

void add_name_space_type(Runtime& runtime, PyObject* module) {
  add_type(module, spec, runtime.name_space_type);
}

}  // namespace opyard::python
