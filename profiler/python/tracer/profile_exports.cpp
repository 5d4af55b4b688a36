// tracer/profile_exports.cpp: exports of the Python class Profile.
#include "tracer/profile_object.h"

#include <string>
#include <string_view>

#include "opyard/profiler/chrome.h"
#include "opyard/profiler/export.h"
#include "opyard/profiler/profile.h"
#include "opyard/profiler/report.h"
#include "tracer/border.h"
#include "tracer/text.h"

namespace opyard::python {
namespace {

// What an export takes besides where it goes.
profiler::ExportOptions read_options(PyObject* self, PyObject* metadata, PyObject* process_name,
                                     long long process_id) {
  profiler::ExportOptions options;
  options.prefixes = prefixes_of(self);
  options.process_name = text_of(process_name);
  options.process_id = process_id;
  Py_ssize_t at = 0;
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  while (PyDict_Next(metadata, &at, &key, &value) != 0) {
    options.metadata.emplace_back(text_of(key), text_of(value));
  }
  return options;
}

PyObject* bytes_of(std::string_view text) {
  return checked_new(PyBytes_FromStringAndSize(text.data(), Py_ssize_t(text.size())));
}

profiler::Sink sink_to(PyObject* write) {
  return [write](std::string_view piece) {
    PyObject* const bytes = bytes_of(piece);
    PyObject* const done = PyObject_CallOneArg(write, bytes);
    Py_DECREF(bytes);
    Py_DECREF(checked_new(done));
  };
}

using WriteProfile = void (*)(const profiler::Profile&, const profiler::ExportOptions&,
                              const profiler::Sink&);

// By write(bytes).
PyObject* export_as(WriteProfile write_profile, PyObject* self, PyObject* args) {
  return enter_tracer([&]() -> PyObject* {
    PyObject* write = nullptr;
    PyObject* metadata = nullptr;
    PyObject* process_name = nullptr;
    long long process_id = 0;
    if (PyArg_ParseTuple(args, "OO!UL", &write, &PyDict_Type, &metadata, &process_name,
                         &process_id) == 0) {
      throw PythonErrorSet();
    }
    write_profile(profile_of(self), read_options(self, metadata, process_name, process_id),
                  sink_to(write));
    Py_RETURN_NONE;
  });
}

}  // namespace

// report(write, metadata, process_name, process_id, deflate, most_bars); deflate(bytes) -> bytes
PyObject* export_report(PyObject* self, PyObject* args) {
  return enter_tracer([&]() -> PyObject* {
    PyObject* write = nullptr;
    PyObject* metadata = nullptr;
    PyObject* process_name = nullptr;
    PyObject* deflate = nullptr;
    long long process_id = 0;
    Py_ssize_t most_bars = 0;
    if (PyArg_ParseTuple(args, "OO!ULOn", &write, &PyDict_Type, &metadata, &process_name,
                         &process_id, &deflate, &most_bars) == 0) {
      throw PythonErrorSet();
    }
    if (most_bars < 1) {
      PyErr_Format(PyExc_ValueError, "a report has at least one bar, not %zd", most_bars);
      throw PythonErrorSet();
    }
    profiler::ReportOptions options;
    options.most_bars = std::size_t(most_bars);
    options.folding = folding_of(self);
    options.lines = line_texts_of(self);
    options.deflate = [&](std::string_view contents) {
      PyObject* const bytes = bytes_of(contents);
      PyObject* const deflated = PyObject_CallOneArg(deflate, bytes);
      Py_DECREF(bytes);
      char* data = nullptr;
      Py_ssize_t size = 0;
      if (PyBytes_AsStringAndSize(checked_new(deflated), &data, &size) != 0) {
        Py_DECREF(deflated);
        throw PythonErrorSet();
      }
      std::string made(data, std::size_t(size));
      Py_DECREF(deflated);
      return made;
    };
    profiler::write_report(profile_of(self), read_options(self, metadata, process_name, process_id),
                           options, sink_to(write));
    Py_RETURN_NONE;
  });
}

// (write, metadata, process_name, process_id)
PyObject* export_chrome(PyObject* self, PyObject* args) {
  return export_as(profiler::write_chrome, self, args);
}
PyObject* export_perfetto(PyObject* self, PyObject* args) {
  return export_as(profiler::write_perfetto, self, args);
}
PyObject* export_pprof(PyObject* self, PyObject* args) {
  return export_as(profiler::write_pprof, self, args);
}
PyObject* export_speedscope(PyObject* self, PyObject* args) {
  return export_as(profiler::write_speedscope, self, args);
}
PyObject* export_stacks(PyObject* self, PyObject* args) {
  return export_as(profiler::write_stacks, self, args);
}

}  // namespace opyard::python
