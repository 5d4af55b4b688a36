// files/module.cpp: the extension module opyard._models: files of tensors and of models.
#include "opyard/detail/graphs/shared.h"

#include "opyard/detail/bind/classes.h"
#include "opyard/detail/bind/refused_calls.h"
#include "opyard/detail/bind/signatures.h"
#include "opyard/jit/parse.h"
#include "opyard/models/model.h"
#include "opyard/models/run_options.h"
#include "opyard/models/safetensors.h"

namespace opyard::model_files {
namespace {

namespace py = pybind11;

using graphs::SharedGraph;
using python::table;
using python::take_result;

// Paths are bytes, as os.fsencode() gives them.
void save_tensors(const std::string& path, const py::dict& tensors) {
  std::vector<jit::NamedTensor> named;
  for (const auto& [name, value] : tensors) {
    Py_ssize_t size = 0;
    const char* const utf8 = PyUnicode_AsUTF8AndSize(name.ptr(), &size);
    if (utf8 == nullptr) throw py::error_already_set();
    const std::string text(utf8, std::size_t(size));
    const opyard::Value tensor = require_value(table(), *jit::parse_type("Tensor"), value.ptr(),
                                               ("save: the value of \"" + text + '"').c_str());
    named.push_back({text, tensor.tensor_unchecked()});
  }
  jit::save_tensors(path, named);
}

jit::FileAccess access_of(bool mapped) {
  return mapped ? jit::FileAccess::Mapped : jit::FileAccess::Read;
}

py::dict load_tensors(const std::string& path, bool mapped) {
  py::dict tensors;
  for (const jit::NamedTensor& each : jit::load_tensors(path, access_of(mapped)).tensors) {
    tensors[py::str(each.name)] = take_result(to_object(table(), each.tensor));
  }
  return tensors;
}

// What opyard.jit.Model holds.
struct SharedModel {
  jit::Model model;
  // Of what is passed, for the graph as it was at the last call.
  std::shared_ptr<const graphs::StageTypes> types = nullptr;
  std::uint64_t version = 0;
};

std::vector<std::string> names_of_inputs(const SharedModel& self) {
  std::vector<std::string> names;
  const auto all = self.model.graph->inputs();
  for (std::size_t i = self.model.state.size(); i < all.size(); ++i) {
    const std::size_t passed = i - self.model.state.size();
    const bool is_known =
        passed < self.model.inputs.size() && !self.model.inputs[passed].name.empty();
    names.push_back(is_known ? self.model.inputs[passed].name : all[i]->printed_name());
  }
  return names;
}

std::shared_ptr<const graphs::StageTypes> types_of(SharedModel& self) {
  const jit::Graph& graph = *self.model.graph;
  if (self.types == nullptr || self.version != graph.version()) {
    const std::vector<std::string> names = names_of_inputs(self);
    self.types = std::make_shared<const graphs::StageTypes>(graphs::stage_types(
        graph, self.model.state.size(), names.size(), 0, [&](std::size_t i) { return names[i]; }));
    self.version = graph.version();
  }
  return self.types;
}

void run_with(void* context, std::span<const opyard::Value> inputs,
              std::span<opyard::Value> outputs) {
  std::vector<opyard::Value> given = jit::run_model(*static_cast<jit::Model*>(context), inputs);
  std::move(given.begin(), given.end(), outputs.begin());
}

// Flat inputs to flat outputs.
py::tuple run(SharedModel& self, const py::tuple& inputs) {
  const auto types = types_of(self);  // another call may look anew meanwhile
  const py::object result = take_result(graphs::call_run(
      table(), *types, &run_with, &self.model, PySequence_Fast_ITEMS(inputs.ptr()), inputs.size()));
  if (types->outputs.empty()) return py::tuple();
  return types->outputs.size() == 1 ? py::make_tuple(result)
                                    : py::reinterpret_borrow<py::tuple>(result);
}

py::list state_of(const SharedModel& self) {
  py::list state;
  for (const jit::StateTensor& each : self.model.state) {
    state.append(
        py::make_tuple(each.name, take_result(to_object(table(), each.tensor)), each.is_parameter));
  }
  return state;
}

// Flat, or None.
py::object example_of(const SharedModel& self) {
  if (!self.model.example) return py::none();
  py::list values;
  for (const opyard::Value& each : *self.model.example) {
    values.append(take_result(to_object(table(), *jit::parse_type("Any"), each)));
  }
  return values;
}

SharedModel load_model(const std::string& path, bool untrusted,
                       const std::vector<std::string>& allowed, bool mapped, bool exact,
                       const std::vector<std::string>& without) {
  return {jit::load_model(path, {.untrusted = untrusted,
                                 .allowed = allowed,
                                 .access = access_of(mapped),
                                 .preparation = {.exact = exact, .without = without}})};
}

// Another one of the same graph and state, since threads may run this one.
SharedModel prepare(const SharedModel& self, bool exact, const std::vector<std::string>& without) {
  SharedModel anew{self.model};
  jit::prepare_model(anew.model, {.exact = exact, .without = without});
  return anew;
}

SharedModel convert(const SharedModel& self, const std::string& dtype, bool exact,
                    const std::vector<std::string>& without) {
  const std::optional<DType> to = find_dtype(dtype);
  OPYARD_CHECK(to.has_value(), BadValue, "there is no dtype " + dtype);
  return {jit::converted_model(self.model, *to, {.exact = exact, .without = without})};
}

SharedModel model_of(const SharedGraph& graph) {
  SharedModel shared;
  shared.model.graph = graph.graph;
  return shared;
}

// What `python -m opyard run` does; the report's text, its table, and whether all is as expected.
py::tuple run_files(const std::string& model,
                    const std::vector<std::pair<std::string, std::string>>& options,
                    const py::function& progress) {
  jit::RunArguments arguments;
  for (const auto& [name, value] : options) {
    if (const jit::RunOption* const option = jit::find_run_option(name))
      jit::take_run_option(*option, value, arguments);
  }
  arguments.request.model = model;
  arguments.request.progress = [&](const std::string& step) { progress(step); };
  const jit::RunReport report = jit::run_files(arguments.request);
  return py::make_tuple(report.text, report.times, report.as_expected);
}

// Name, value, whether it repeats, and help, of those that the command has.
py::list run_options() {
  py::list options;
  for (const jit::RunOption& each : jit::run_options()) {
    if (!each.program_only)
      options.append(py::make_tuple(each.name, each.value, each.repeats, each.help));
  }
  return options;
}

// Arguments and help of each.
py::list run_examples() {
  py::list examples;
  for (const jit::RunExample& each : jit::run_examples()) {
    examples.append(py::make_tuple(each.arguments, each.help));
  }
  return examples;
}

void add_model(py::module_& module) {
  py::class_<SharedModel> model(module, "Model");
  model
      .def_property_readonly("graph",
                             [](const SharedModel& self) { return SharedGraph{self.model.graph}; })
      .def_property_readonly("input_tree",
                             [](const SharedModel& self) { return self.model.input_tree; })
      .def_property_readonly("output_tree",
                             [](const SharedModel& self) { return self.model.output_tree; })
      .def_property_readonly("input_names", &names_of_inputs)
      .def("state", &state_of)
      .def("example", &example_of)
      .def("run", &run, py::arg("inputs"))
      .def("prepare", &prepare, py::arg("exact"), py::arg("without"))
      .def("convert", &convert, py::arg("dtype"), py::arg("exact"), py::arg("without"))
      .def("explain", [](const SharedModel& self) { return jit::explain_model(self.model); })
      .def(
          "save",
          [](const SharedModel& self, const std::string& path) {
            jit::save_model(self.model, path);
          },
          py::arg("path"));
  python::refuse_new(model, "opyard.jit.load() makes them");
  python::refuse_pickling(model);
  module.def("load_model", &load_model, py::arg("path"), py::arg("untrusted"), py::arg("allowed"),
             py::arg("mapped"), py::arg("exact"), py::arg("without"));
  module.def("run_files", &run_files, py::arg("model"), py::arg("options"), py::arg("progress"));
  module.def("run_options", &run_options);
  module.def("run_examples", &run_examples);
  module.def("model_of", &model_of, py::arg("graph"));
}

void add_tensor_files(py::module_& module) {
  module.def("save_tensors", &save_tensors, py::arg("path"), py::arg("tensors"));
  module.def("load_tensors", &load_tensors, py::arg("path"), py::arg("mapped"));
}

}  // namespace
}  // namespace opyard::model_files

PYBIND11_MODULE(_models, module, pybind11::multiple_interpreters::per_interpreter_gil()) {
  module.doc() = "Models and tensors in files.";
  opyard::python::use_table_of_errors();
  pybind11::module_::import("opyard._graphs");  // the class of a model's graph
  opyard::model_files::add_tensor_files(module);
  opyard::model_files::add_model(module);
  opyard::python::add_signatures(module);
  opyard::python::name_refusals(module);
}
