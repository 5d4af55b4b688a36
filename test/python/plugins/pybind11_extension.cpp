// pybind11_extension.cpp: an extension module made with opyard/pybind11.h.
//
// It is what a user's module is: it sees nothing of pyfallback/ but the public headers.
// test_pybind11.py calls it.
#include "opyard/pybind11.h"

#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "opyard/base/warning.h"
#include "opyard/library.h"
#include "opyard/registry/found_operator.h"

namespace py = pybind11;

namespace opyard {
namespace {

// What C++ throws: an Error of each kind, by its number, or another exception.
void throws(int kind) { fail(ErrorKind(kind), "the text"); }
void throws_other(const std::string& what) {
  if (what == "bad_alloc") throw std::bad_alloc();
  if (what == "index") throw py::index_error("of pybind11");
  if (what == "runtime") throw std::runtime_error("of the standard library");
  throw 42;
}

Tensor warns(const std::string& text, const py::object& what) {
  warn(text);
  if (!py::isinstance<py::str>(what)) return what().cast<Tensor>();
  const std::string word = py::cast<std::string>(what);
  if (word == "Error") fail(ErrorKind::BadValue, "the error");
  if (word == "python") throw py::value_error("the error");
  if (word == "raised") py::int_{py::str("word")};
  return Tensor();
}

// A kernel that calls Python.
py::object* kernel_function = nullptr;
Tensor calls_python(const Tensor& x) {
  return carry_exceptions([&] { return (*kernel_function)(x).cast<Tensor>(); });
}

// By an operator, so that the exception passes through libopyard and _C.
Tensor through_operator(py::object function, const Tensor& x) {
  Library library(LibraryKind::Def, "test_pybind11");
  library.def("calls_python(Tensor x) -> Tensor", &calls_python);
  kernel_function = &function;
  return require_operator("test_pybind11::calls_python").typed<Tensor(const Tensor&)>().call(x);
}

std::int64_t on_thread(const py::function& function) {
  const PythonTable& table = python_table();
  std::int64_t result = 0;
  std::optional<Error> error;
  {
    const WithoutPython without(table);
    std::thread([&] {
      try {
        const HoldPython python(table);
        result = carry_exceptions([&] { return function().cast<std::int64_t>(); });
      } catch (const Error& failed) {
        error = failed;
      }
    }).join();
  }
  if (error) throw Error(*error);
  return result;
}

}  // namespace
}  // namespace opyard

#if PY_VERSION_HEX >= 0x030C0000
PYBIND11_MODULE(opyard_test_pybind11, m, py::multiple_interpreters::per_interpreter_gil()) {
#else
PYBIND11_MODULE(opyard_test_pybind11, m) {
#endif
  using namespace opyard;
  register_exception_translator();
  m.def("throws", &throws);
  m.def("throws_other", &throws_other);
  m.def("throws_after_call", python_call(&throws));

  m.def("tensor", [](const Tensor& x) { return x; });
  m.def("tensor_only", [](const Tensor& x) { return x; }, py::arg("x").noconvert());
  m.def("undefined", [] { return Tensor(); });
  m.def("tensors", [](const std::vector<Tensor>& all) { return all; });
  m.def("tensor_or_none", [](const std::optional<Tensor>& x) { return x; });
  m.def("kind", [](const Tensor&) { return "tensor"; });
  m.def("kind", [](double) { return "number"; });
  m.def("kind", [](const py::object&) { return "object"; });
  m.def("count", [](const Tensor& x) { return x.impl()->owner_count(); });

  m.def("warns", python_call(&warns));
  m.def("warns_outside", &warns);
  m.def("says", python_call([](const std::string& text) { warn(text); }));
  m.def("through_operator", &through_operator);
  m.def("on_thread", &on_thread);
  m.def("tag", [] { return reinterpret_cast<std::uintptr_t>(python_table().interpreter); });
}
