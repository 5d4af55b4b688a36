// graphs/files.cpp: files of tensors in Python.
#include "graphs/graphs.h"

#include "opyard/jit/parse.h"
#include "opyard/jit/safetensors.h"

namespace opyard::graphs {
namespace {

// Paths are bytes, as os.fsencode() gives them.
void save_tensors(const std::string& path, const py::dict& tensors) {
  std::vector<jit::NamedTensor> named;
  for (const auto& [name, value] : tensors) {
    const std::string text = name.cast<std::string>();
    const opyard::Value tensor = require_value(table(), *jit::parse_type("Tensor"), value.ptr(),
                                               ("save: the value of \"" + text + '"').c_str());
    named.push_back({text, tensor.tensor_unchecked()});
  }
  jit::save_tensors(path, named);
}

py::dict load_tensors(const std::string& path) {
  py::dict tensors;
  for (const jit::NamedTensor& each : jit::load_tensors(path).tensors) {
    tensors[py::str(each.name)] = take_result(to_object(table(), each.tensor));
  }
  return tensors;
}

}  // namespace

void add_files(py::module_& module) {
  module.def("save_tensors", &save_tensors, py::arg("path"), py::arg("tensors"));
  module.def("load_tensors", &load_tensors, py::arg("path"));
}

}  // namespace opyard::graphs
