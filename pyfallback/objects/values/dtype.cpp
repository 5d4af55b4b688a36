// objects/values/dtype.cpp: opyard.float32 and its like.
//
// The objects are made once, with the type, and stay: pickling and copying give the object of
// that name back, which the package exports.
#include "objects/values/dtype.h"

#include "runtime/types.h"

namespace opyard::python {
namespace {

DType dtype_of_object(PyObject* self) noexcept {
  return reinterpret_cast<DTypeObject*>(self)->dtype;
}

PyObject* refuse_new(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError,
                  "element types are not made; use the ones that exist, such as opyard.float32");
  return nullptr;
}

PyObject* represent_dtype(PyObject* self) {
  return PyUnicode_FromFormat("opyard.%s", name_of(dtype_of_object(self)));
}

// A text makes pickle and copy look the object up under its name.
PyObject* reduce_dtype(PyObject* self, PyObject*) {
  return PyUnicode_FromString(name_of(dtype_of_object(self)));
}

PyObject* dtype_name(PyObject* self, void*) {
  return PyUnicode_FromString(name_of(dtype_of_object(self)));
}
PyObject* get_itemsize(PyObject* self, void*) {
  return PyLong_FromSize_t(item_size(dtype_of_object(self)));
}
PyObject* get_is_floating_point(PyObject* self, void*) {
  return PyBool_FromLong(is_floating_point(dtype_of_object(self)) ? 1 : 0);
}
PyObject* get_is_complex(PyObject* self, void*) {
  return PyBool_FromLong(is_complex(dtype_of_object(self)) ? 1 : 0);
}

// What the runtime keeps is seen by Python's collector, so that the type may end.
int traverse_dtype(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return 0;
}

void deallocate_dtype(PyObject* self) {
  PyObject_GC_UnTrack(self);
  free_object(self);
}

PyMethodDef dtype_methods[] = {{"__reduce__", reduce_dtype, METH_NOARGS, nullptr},
                               {nullptr, nullptr, 0, nullptr}};

PyGetSetDef dtype_properties[] = {
    {"name", dtype_name, nullptr, "The name, such as 'float32'.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of one element.", nullptr},
    {"is_floating_point", get_is_floating_point, nullptr,
     "Whether elements are real floating-point numbers.", nullptr},
    {"is_complex", get_is_complex, nullptr, "Whether elements are complex numbers.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot dtype_slots[] = {
    {Py_tp_doc, const_cast<char*>("The type of a tensor's elements. There is one object for each, "
                                  "so `is` compares them.")},
    {Py_tp_new, slot(refuse_new)},
    {Py_tp_traverse, slot(traverse_dtype)},
    {Py_tp_dealloc, slot(deallocate_dtype)},
    {Py_tp_repr, slot(represent_dtype)},
    {Py_tp_methods, dtype_methods},
    {Py_tp_getset, dtype_properties},
    {0, nullptr}};

PyType_Spec dtype_spec = {"opyard.dtype", sizeof(DTypeObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, dtype_slots};

constexpr DType kDTypes[] = {
#define OPYARD_DTYPE(code, name, python, type, dlpack, bits, ...) DType::name,
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
};

}  // namespace

Owned wrap(Runtime& runtime, DType dtype) {
  return Owned::share(runtime.dtypes[std::size_t(dtype)]);
}

void add_dtype_type(Runtime& runtime, PyObject* module) {
  add_type(module, dtype_spec, runtime.dtype_type);
  for (const DType dtype : kDTypes) {
    PyObject*& object = runtime.dtypes[std::size_t(dtype)];
    if (object == nullptr) {
      object = checked(runtime.dtype_type->tp_alloc(runtime.dtype_type, 0)).release();
      reinterpret_cast<DTypeObject*>(object)->dtype = dtype;
    }
    if (PyModule_AddObjectRef(module, name_of(dtype), object) < 0) throw PythonErrorSet();
  }
}

}  // namespace opyard::python
