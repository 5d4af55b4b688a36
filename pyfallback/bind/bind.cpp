// bind/bind.cpp: the extension module opyard._bind, for calls that need not be fast.
//
// Schemas, the inspection of the registry, and plugins. Only functions of the package call it.
// It keeps no Python object of its own, so it may be imported late and lives as long as Python
// lets it.
//
// [Interrupted] Python code runs while the module is made, such as the handler of a signal, and may
// raise. Then the exception leaves as it is, and not as an ImportError; and what was made is
// forgotten at once, since pybind11 refuses to make a class twice: so the next import makes it
// anew.
#include "opyard/detail/python/python.h"

#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "bind/c_function.h"
#include "bind/registry.h"
#include "bind/schema.h"
#include "opyard/base/cached_memory.h"
#include "opyard/detail/bind/refused_calls.h"
#include "opyard/detail/bind/signatures.h"
#include "opyard/detail/bind/text.h"
#include "opyard/plugin/plugin.h"
#include "opyard/pool/pool.h"
#include "opyard/tensor/broadcast.h"
#include "runtime/error_type.h"
#include "runtime/gil.h"

namespace py = pybind11;

namespace opyard::python {
namespace {

// What pybind11 throws for want of memory ("Could not allocate ...") stays MemoryError.
void translate(std::exception_ptr exception) {
  try {
    std::rethrow_exception(std::move(exception));
  } catch (const Error& error) {
    set_python_error(error);
  } catch (const std::runtime_error&) {
    if (PyErr_ExceptionMatches(PyExc_MemoryError) == 0) throw;
  }
}

// Paths come as os.fsencode() makes them, and go back as os.fsdecode() does.
py::str decode_path(const std::string& path) {
  PyObject* const text = PyUnicode_DecodeFSDefaultAndSize(path.data(), Py_ssize_t(path.size()));
  if (text == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(text);
}

const char* survivor_name(Survivor::Kind kind) {
  switch (kind) {
    case Survivor::Kind::Call:
      return "call";
    case Survivor::Kind::Handle:
      return "handle";
    case Survivor::Kind::Registration:
      return "registration";
  }
  return "";
}

// (in use, path, [(kind, name, key, provenance)], text)
py::tuple show(const UnloadReport& report) {
  py::list survivors;
  for (const Survivor& each : report.survivors) {
    survivors.append(py::make_tuple(survivor_name(each.kind), each.name, each.key,
                                    decode_path(each.provenance)));
  }
  return py::make_tuple(report.in_use, decode_path(report.path), survivors,
                        decode_path(to_string(report)));
}

// Opening a library may take long, and runs code of its own: without the GIL.
void add_plugins(py::module_& module) {
  module.def(
      "load_library",
      [](const std::string& path) {
        const ReleaseGil release;
        load_library(path);
      },
      "opens a plugin and registers its operators");
  module.def(
      "unload_library",
      [](const std::string& path) {
        UnloadReport report;
        {
          const ReleaseGil release;
          report = unload_and_report(path);
        }
        return show(report);
      },
      "takes a plugin's registrations back; gives the number of kernels still in use, the path, "
      "what is left, and the same in words");
  module.def(
      "load_environment_libraries",
      [] {
        std::vector<std::string> errors;
        {
          const ReleaseGil release;
          errors = load_environment_libraries();
        }
        return show_texts(errors);
      },
      "loads the plugins that OPYARD_LIBRARIES names, once; gives the errors");
  module.def(
      "loaded_libraries",
      [] {
        py::list paths;
        for (const std::string& path : loaded_libraries()) paths.append(decode_path(path));
        return paths;
      },
      "the paths of the loaded plugins");
  module.def(
      "linked_library_errors", [] { return show_texts(linked_library_errors()); },
      "why operators of libraries that were linked in are missing");
}

// An operand of a call as its refusal shows it: name, tensor as text, sizes.
using Shown = std::tuple<std::string, std::string, std::vector<std::int64_t>>;

// Raises the sentence for the first two that do not broadcast, if there are two.
void require_broadcast(const std::string& op, const std::vector<Shown>& operands) {
  const ClashingPair pair = find_clashing_pair(operands.size(), [&](std::size_t i, std::size_t j) {
    return find_clash(IntSpan(std::get<2>(operands[i])), IntSpan(std::get<2>(operands[j])));
  });
  if (!pair) return;
  const auto& [name_a, text_a, a] = operands[pair.first];
  const auto& [name_b, text_b, b] = operands[pair.second];
  refuse_broadcast(op, {name_a, text_a, a.size()}, {name_b, text_b, b.size()}, pair.clash);
}

void add_resources(py::module_& module) {
  module.def("require_broadcast", &require_broadcast,
             "raises the refusal of operands (name, text, sizes) that do not broadcast");
  module.def("num_threads", &thread_count, "how many threads compute at a time");
  module.def("set_num_threads", &set_thread_count, "sets that, for what begins afterwards");
  module.def("empty_cached_memory", &empty_cached_memory,
             "frees cached memory; says how many bytes");
  module.def(
      "cached_memory",
      [] {
        const CachedMemory cached = cached_memory();
        return py::make_tuple(cached.bytes, cached.hits, cached.misses);
      },
      "bytes that wait, and how many tensors were given such memory, and how many not");
}

void make(py::module_& module) {
  module.doc() = "Schemas, the inspection of the registry, and plugins.";
  py::register_local_exception_translator(&translate);
  add_schema(module);
  add_registry(module);
  add_keys(module);
  add_plugins(module);
  add_c_function(module);
  add_resources(module);
}

// See [Interrupted]. Classes and functions refer to each other, so that the collector has to free
// them.
void forget(const py::module_& module) {
  PyObject* const names = PyModule_GetDict(module.ptr());
  const auto all = py::reinterpret_steal<py::list>(PyDict_Keys(names));
  for (const py::handle name : all) {
    if (!py::cast<std::string>(name).starts_with("__")) PyDict_DelItem(names, name.ptr());
  }
  PyGC_Collect();
}

}  // namespace
}  // namespace opyard::python

// What pybind11 does with an exception of a module that is made. See [Interrupted].
#undef PYBIND11_CATCH_INIT_EXCEPTIONS
#define PYBIND11_CATCH_INIT_EXCEPTIONS                \
  catch (py::error_already_set & error) {             \
    error.restore();                                  \
  }                                                   \
  catch (const std::exception& error) {               \
    PyErr_SetString(PyExc_ImportError, error.what()); \
  }

PYBIND11_MODULE(_bind, module, py::multiple_interpreters::per_interpreter_gil()) {
  try {
    opyard::python::make(module);
    opyard::python::add_signatures(module);
    opyard::python::name_refusals(module);
  } catch (...) {
    opyard::python::forget(module);
    throw;
  }
}
