// bind/classes.cpp: completes pybind11's classes: pickling, construction, comparison refused.
#include "opyard/detail/bind/classes.h"

#include <new>
#include <string>

#include "opyard/detail/python/clear.h"

namespace opyard::python {
namespace {

namespace py = pybind11;

// pybind11 writes to what tp_alloc gave without a look at it. Only C++ calls this one.
PyObject* allocate_or_throw(PyTypeObject* type, Py_ssize_t count) {
  PyObject* const made = PyType_GenericAlloc(type, count);
  if (made != nullptr) return made;
  clear_or_report(PyExc_MemoryError);
  throw std::bad_alloc();
}

PyObject* refuse_new_object(PyTypeObject* type, PyObject*, PyObject*) {
  PyErr_Format(PyExc_TypeError, "cannot create '%s' objects", type->tp_name);
  return nullptr;
}

PyObject* new_made_object(PyTypeObject* type, PyObject* args, PyObject* names) {
  PyTypeObject* of_cpp = type;  // it, or the class of ours that it is derived from
  while (of_cpp->tp_base->tp_new == new_made_object) of_cpp = of_cpp->tp_base;
  type->tp_alloc = allocate_or_throw;  // Python gives each class that is derived its own
  PyObject* made = nullptr;
  try {
    made = of_cpp->tp_base->tp_new(type, args, names);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
  if (made == nullptr) return nullptr;
  PyObject* const self = PyTuple_Pack(1, made);
  PyObject* const self_and_args = self == nullptr ? nullptr : PySequence_Concat(self, args);
  Py_XDECREF(self);
  PyObject* const init = PyObject_GetAttrString(reinterpret_cast<PyObject*>(of_cpp), "__init__");
  PyObject* const none = self_and_args == nullptr || init == nullptr
                             ? nullptr
                             : PyObject_Call(init, self_and_args, names);
  Py_XDECREF(self_and_args);
  Py_XDECREF(init);
  if (none == nullptr) {
    Py_DECREF(made);
    return nullptr;
  }
  Py_DECREF(none);
  return made;
}

// Last of what is done to the class: an assignment to the attribute __new__ sets the slot. So not
// even the __new__ of pybind11's base class, or of a subclass that calls it, gets by.
void set_new(const py::object& type, newfunc function) {
  reinterpret_cast<PyTypeObject*>(type.ptr())->tp_new = function;
  reinterpret_cast<PyTypeObject*>(type.ptr())->tp_alloc = allocate_or_throw;
}

}  // namespace

void refuse_pickling(py::object type) {
  const std::string name = py::str(type.attr("__name__"));
  const auto refuse = [name](const py::object&, const py::args&) -> py::object {
    throw py::type_error("cannot pickle '" + name + "' object");
  };
  for (const char* method : {"__reduce_ex__", "__reduce__"}) {
    type.attr(method) = py::cpp_function(refuse, py::is_method(type));
  }
}

void refuse_new(py::object type, const char* maker) {
  const std::string text =
      "cannot create '" + std::string(py::str(type.attr("__name__"))) + "' objects; " + maker;
  type.attr("__new__") = py::cpp_function(
      [text](const py::args&, const py::kwargs&) -> py::object { throw py::type_error(text); });
  set_new(type, refuse_new_object);
}

void make_in_new(py::object type) {
  const std::string name = py::str(type.attr("__name__"));
  const py::handle borrowed = type;  // which lives as long as its attribute
  type.attr("__new__") = py::cpp_function(
      [name, borrowed](const py::args& args, const py::kwargs& names) -> py::object {
        if (args.empty() || !PyType_Check(args[0].ptr()) ||
            !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(args[0].ptr()),
                              reinterpret_cast<PyTypeObject*>(borrowed.ptr()))) {
          throw py::type_error(name + ".__new__() takes a class that is a " + name);
        }
        PyObject* const made = new_made_object(reinterpret_cast<PyTypeObject*>(args[0].ptr()),
                                               args[py::slice(1, {}, {})].ptr(), names.ptr());
        if (made == nullptr) throw py::error_already_set();
        return py::reinterpret_steal<py::object>(made);
      });
  set_new(type, new_made_object);
}

}  // namespace opyard::python
