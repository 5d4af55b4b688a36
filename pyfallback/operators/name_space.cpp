// operators/name_space.cpp: namespace object with cached attributes.
//
// A type of our own, since a class in Python with a __getattr__ looks through its bases first, at
// every access (bench row path).
//
// [Near] Beside its dictionary an object has a few of its attributes by the addresses of their
// names, which the interpreter gives for one name always. So its dictionary is changed in here
// alone: what Python gets for __dict__ can only be looked at, as with a class. Names are plain
// strings there, so that no code of a user runs while one is looked for.
#include "operators/name_space.h"

#include <structmember.h>

#include <utility>

#include "runtime/types.h"

namespace opyard::python {
namespace {

struct Near {
  PyObject* name;
  PyObject* value;
};
constexpr std::size_t kNear = 16;

struct NameSpaceObject {
  PyObject_HEAD PyObject* cached;  // a dictionary, or null
  PyObject* weak_references;
  Near near[kNear];
};

NameSpaceObject& name_space_of(PyObject* self) { return *reinterpret_cast<NameSpaceObject*>(self); }

Near& near_of(NameSpaceObject& space, PyObject* name) {
  constexpr std::uintptr_t kTextSize = 64;  // short texts are about so far apart
  return space.near[reinterpret_cast<std::uintptr_t>(name) / kTextSize % kNear];
}

void forget_near(NameSpaceObject& space) noexcept {
  for (Near& near : space.near) {
    Py_CLEAR(near.name);
    Py_CLEAR(near.value);
  }
}

// A name as a plain string.
Owned plain(PyObject* name) {
  return PyUnicode_CheckExact(name) ? Owned::share(name) : checked(PyUnicode_FromObject(name));
}

OPYARD_COLD PyObject* find_attribute(PyObject* self, PyObject* name) {
  NameSpaceObject& space = name_space_of(self);
  if (space.cached != nullptr) {
    if (PyObject* const found = Py_XNewRef(PyDict_GetItemWithError(space.cached, name))) {
      if (PyUnicode_CheckExact(name)) {
        Near& near = near_of(space, name);
        const Owned former_name = Owned::steal(std::exchange(near.name, Py_NewRef(name)));
        const Owned former_value = Owned::steal(std::exchange(near.value, Py_NewRef(found)));
      }
      return found;
    }
    if (PyErr_Occurred() != nullptr) return nullptr;
  }
  // Without an AttributeError, which is a quarter of the price of a name that is not there.
  if (PyObject* const found = _PyObject_GenericGetAttrWithDict(self, name, nullptr, 1)) {
    return found;
  }
  if (PyErr_Occurred() != nullptr) return nullptr;
  return enter_from_python([&] {
    const Owned find =
        checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(self)), "_find"));
    return PyObject_CallFunctionObjArgs(find.get(), self, name, nullptr);
  });
}

PyObject* name_space_attribute(PyObject* self, PyObject* name) {
  const Near& near = near_of(name_space_of(self), name);
  return near.name == name ? Py_NewRef(near.value) : find_attribute(self, name);
}

int set_name_space_attribute(PyObject* self, PyObject* name, PyObject* value) {
  return enter_from_python(-1, [&] {
    const Owned exact = plain(name);
    const int failed = PyObject_GenericSetAttr(self, exact.get(), value);
    forget_near(name_space_of(self));
    return failed;
  });
}

// _keep(name, value): what is cached by that name, which is this value if nothing was.
PyObject* keep(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return enter_from_python([&] {
    if (count != 2) fail(ErrorKind::BadArgument, "_keep() takes a name and a value");
    const Owned exact = plain(args[0]);
    NameSpaceObject& space = name_space_of(self);
    if (space.cached == nullptr) space.cached = checked(PyDict_New()).release();
    return Py_XNewRef(PyDict_SetDefault(space.cached, exact.get(), args[1]));
  });
}

// _drop(name): keeps nothing by that name any more.
PyObject* drop_name(PyObject* self, PyObject* name) {
  return enter_from_python([&] {
    const Owned exact = plain(name);
    NameSpaceObject& space = name_space_of(self);
    if (space.cached != nullptr && PyDict_Contains(space.cached, exact.get()) == 1) {
      PyDict_DelItem(space.cached, exact.get());
    }
    forget_near(space);
    return PyErr_Occurred() == nullptr ? Py_NewRef(Py_None) : nullptr;
  });
}

PyObject* get_dictionary(PyObject* self, void*) {
  return enter_from_python([&] {
    NameSpaceObject& space = name_space_of(self);
    if (space.cached == nullptr) space.cached = checked(PyDict_New()).release();
    return PyDict_Copy(space.cached);
  });
}

int traverse_name_space(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(name_space_of(self).cached);
  for (const Near& near : name_space_of(self).near) Py_VISIT(near.value);
  return 0;
}

int clear_name_space(PyObject* self) {
  forget_near(name_space_of(self));
  Py_CLEAR(name_space_of(self).cached);
  return 0;
}

void deallocate_name_space(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (name_space_of(self).weak_references != nullptr) PyObject_ClearWeakRefs(self);
  clear_name_space(self);
  free_object(self);
}

PyMethodDef name_space_methods[] = {{"_keep", method(keep), METH_FASTCALL, nullptr},
                                    {"_drop", drop_name, METH_O, nullptr},
                                    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef name_space_properties[] = {
    {"__dict__", get_dictionary, nullptr, "A copy of what is cached.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef name_space_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(NameSpaceObject, cached), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(NameSpaceObject, weak_references), READONLY,
     nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot name_space_slots[] = {
    {Py_tp_doc, const_cast<char*>("Attributes that _find(name) finds once.")},
    {Py_tp_getattro, slot(name_space_attribute)},
    {Py_tp_setattro, slot(set_name_space_attribute)},
    {Py_tp_methods, name_space_methods},
    {Py_tp_traverse, slot(traverse_name_space)},
    {Py_tp_clear, slot(clear_name_space)},
    {Py_tp_dealloc, slot(deallocate_name_space)},
    {Py_tp_getset, name_space_properties},
    {Py_tp_members, name_space_members},
    {0, nullptr}};

PyType_Spec name_space_spec = {"opyard.NameSpace", sizeof(NameSpaceObject), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                               name_space_slots};

}  // namespace

void add_name_space_type(Runtime& runtime, PyObject* module) {
  add_type(module, name_space_spec, runtime.name_space_type);
}

}  // namespace opyard::python
