// objects/tensor/aten_methods.cpp: caching the methods that are operators.
#include "objects/tensor/aten_methods.h"

#include <utility>

#include "objects/tensor/aten.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

AtenMethods& methods_of(PyObject* self) { return *reinterpret_cast<AtenMethods*>(self); }

int traverse_method_table(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(methods_of(self).by_name);
  for (const AtenMethods::Near& near : methods_of(self).near) Py_VISIT(near.found);
  return 0;
}

// Dropping may run code that looks here: each entry is empty before it is dropped.
int clear_method_table(PyObject* self) {
  for (AtenMethods::Near& near : methods_of(self).near) {
    const AtenMethods::Near former = std::exchange(near, AtenMethods::Near{});
    Py_XDECREF(former.name);
    Py_XDECREF(former.found);
  }
  Py_CLEAR(methods_of(self).by_name);
  return 0;
}

void deallocate_method_table(PyObject* self) {
  PyObject_GC_UnTrack(self);
  clear_method_table(self);
  free_object(self);
}

PyType_Slot method_table_slots[] = {
    {Py_tp_doc, const_cast<char*>("The operators that were found as methods of Tensor.")},
    {Py_tp_traverse, slot(traverse_method_table)},
    {Py_tp_clear, slot(clear_method_table)},
    {Py_tp_dealloc, slot(deallocate_method_table)},
    {0, nullptr}};

PyType_Spec method_table_spec = {
    "opyard._C._AtenMethods", sizeof(AtenMethods), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    method_table_slots};

// The cache of a state of the registry: empty if the last one was of another state.
AtenMethods& require_methods(Runtime& runtime, std::uint64_t generation) {
  if (runtime.aten_methods == nullptr) {
    const Owned type = checked(PyType_FromSpec(&method_table_spec));
    auto* const made = reinterpret_cast<PyTypeObject*>(type.get());
    Owned fresh = checked(made->tp_alloc(made, 0));
    // The collector may have run code that came here in between.
    if (runtime.aten_methods == nullptr) runtime.aten_methods = fresh.release();
  }
  AtenMethods& methods = methods_of(runtime.aten_methods);
  if (runtime.aten_methods_generation != generation) {
    const Owned held = Owned::share(runtime.aten_methods);  // dropping may run code of others
    runtime.aten_methods_generation = generation;
    clear_method_table(held.get());
  }
  return methods;
}

Owned find_cached(const Runtime& runtime, std::uint64_t generation, PyObject* name) {
  if (runtime.aten_methods == nullptr || runtime.aten_methods_generation != generation) return {};
  const AtenMethods& methods = methods_of(runtime.aten_methods);
  if (methods.by_name == nullptr) return {};
  Owned found = Owned::share(PyDict_GetItemWithError(methods.by_name, name));
  if (!found && PyErr_Occurred() != nullptr) throw PythonErrorSet();
  return found;
}

}  // namespace

Owned find_aten_method(Runtime& runtime, PyObject* name) {
  const std::uint64_t generation = Registry::generation();
  if (Owned cached = find_cached(runtime, generation, name)) return cached;
  Owned found = find_aten(runtime, name);
  // Asking may have loaded the operators, and other threads may have come in between: what was
  // found may be of a later state than it is kept for, and then it is not found again.
  if (found && Registry::generation() == generation) {
    const Owned by_name = checked(PyDict_New());
    AtenMethods& methods = require_methods(runtime, generation);
    if (methods.by_name == nullptr) methods.by_name = Owned::share(by_name.get()).release();
    const Owned held = Owned::share(methods.by_name);
    if (PyDict_SetItem(held.get(), name, found.get()) < 0) throw PythonErrorSet();
  }
  return found;
}

void keep_near_method(Runtime& runtime, PyTypeObject* type, PyObject* name, PyObject* method) {
  const TypeVersion version = type_version(runtime, type);
  if (version == 0 || !PyUnicode_CheckExact(name)) return;
  AtenMethods& methods = require_methods(runtime, Registry::generation());
  const AtenMethods::Near fresh{Py_NewRef(name), Py_NewRef(method), type, version};
  const AtenMethods::Near former = std::exchange(methods.near_of(name), fresh);
  Py_XDECREF(former.name);
  Py_XDECREF(former.found);
}

Owned find_aten_method(Runtime& runtime, PyTypeObject* type, PyObject* name) {
  const std::uint64_t generation = Registry::generation();
  const TypeVersion version = type_version(runtime, type);
  Owned found = find_aten_method(runtime, name);
  // Other threads may have changed the class or the registry meanwhile.
  if (found && generation == Registry::generation() && version == type_version(runtime, type)) {
    keep_near_method(runtime, type, name, found.get());
  }
  return found;
}

}  // namespace opyard::python
