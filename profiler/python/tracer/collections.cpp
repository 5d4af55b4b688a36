// tracer/collections.cpp: runs of Python's garbage collector as events.
#include "tracer/collections.h"

#include <string>

#include "opyard/detail/python/clear.h"
#include "opyard/detail/python/look_up.h"
#include "opyard/profiler/names.h"
#include "opyard/profiler/stream.h"
#include "tracer/attributes.h"
#include "tracer/border.h"

namespace opyard::python {
namespace {

std::uint32_t key_of_generation(long generation) {
  profiler::Name name;
  name.text = "garbage collection, generation " + std::to_string(generation);
  name.kind = "collection";
  return profiler::add_name(std::move(name));
}

// (phase, info): "start" or "stop", and {"generation": n, …}.
PyObject* on_collection(PyObject*, PyObject* args) {
  return enter_tracer([&]() -> PyObject* {
    const char* phase = nullptr;
    PyObject* info = nullptr;
    if (PyArg_ParseTuple(args, "sO!", &phase, &PyDict_Type, &info) == 0) throw PythonErrorSet();
    PyObject* const generation = find_item(info, "generation");
    const long number = generation == nullptr ? 0 : PyLong_AsLong(generation);
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    constexpr auto kKind = profiler::SpanKind::Collection;
    const bool is_start = std::string_view(phase) == "start";
    profiler::append_event(is_start ? profiler::enter_of(kKind) : profiler::exit_of(kKind),
                           key_of_generation(number));
    Py_RETURN_NONE;
  });
}

// gc.callbacks; a new reference, or null.
PyObject* callbacks() {
  PyObject* const module = PyImport_ImportModule("gc");
  PyObject* const list = module == nullptr ? nullptr : attribute_of(module, "callbacks");
  Py_XDECREF(module);
  return list;
}

void call_list(const char* method, PyObject* callback) noexcept {
  PyObject* const list = callbacks();
  PyObject* const done = list == nullptr ? nullptr : call_method(list, method, callback);
  Py_XDECREF(list);
  Py_XDECREF(done);
  clear_or_report(PyExc_Exception);
}

}  // namespace

PyMethodDef collection_callback = {"on_collection", on_collection, METH_VARARGS,
                                   "on_collection(phase, info), for gc.callbacks"};

void watch_collections(PyObject* callback) noexcept { call_list("append", callback); }
void forget_collections(PyObject* callback) noexcept { call_list("remove", callback); }

}  // namespace opyard::python
