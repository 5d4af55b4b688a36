// graphs/runs.cpp: Code and InterpreterState in Python.
//
// Arguments are converted by the types of the graph's inputs as an operator's are by its schema, so
// arrays of other libraries are tensors here, too. One output comes as itself, several as a tuple.
#include "graphs/graphs.h"

#include <memory>

#include "opyard/jit/interpreter_state.h"

namespace opyard::graphs {
namespace {

struct SharedCode {
  jit::CodePtr code;
};
using State = jit::InterpreterState;
using Values = std::vector<opyard::Value>;

// The inputs and outputs of one stage, in the graph's order.
std::vector<const jit::Value*> outputs_of(const jit::Graph& graph, std::size_t stage) {
  std::vector<const jit::Value*> outputs;
  for (std::size_t index = 0; index < graph.outputs().size(); ++index) {
    if (std::size_t(graph.output_stage(index)) == stage) outputs.push_back(graph.outputs()[index]);
  }
  return outputs;
}

std::size_t inputs_before(const jit::Code& code, std::size_t stage) {
  std::size_t count = 0;
  for (std::size_t each = 0; each < stage; ++each) count += code.input_count(each);
  return count;
}

// Raises BadArgument for another number of arguments; TypeError names the input that does not fit.
Values inputs_from(const PythonTable& known, const jit::Code& code, std::size_t stage,
                   const py::args& args) {
  const std::size_t count = stage < code.stage_count() ? code.input_count(stage) : 0;
  const std::size_t first = inputs_before(code, stage);
  Values inputs;
  inputs.reserve(args.size());
  for (std::size_t index = 0; index < args.size(); ++index) {
    if (index >= count) {  // the count is refused by who runs it; what came is only counted
      inputs.emplace_back();
      continue;
    }
    const jit::Value& input = *code.graph().inputs()[first + index];
    const std::string what = "input %" + input.printed_name();
    inputs.push_back(require_value(known, *input.type(),
                                   PyTuple_GET_ITEM(args.ptr(), Py_ssize_t(index)), what.c_str()));
  }
  return inputs;
}

PyObject* objects_from(const PythonTable& known, const jit::Code& code, std::size_t stage,
                       const Values& values) {
  const std::vector<const jit::Value*> outputs = outputs_of(code.graph(), stage);
  if (values.size() == 1) return to_object(known, *outputs[0]->type(), values[0]);
  if (values.empty()) return Py_NewRef(Py_None);
  PyObject* const tuple = require_object(known, PyTuple_New(Py_ssize_t(values.size())));
  for (std::size_t index = 0; index < values.size(); ++index) {
    PyObject* const object = known.from_value(&known, outputs[index]->type().get(), &values[index]);
    if (object == nullptr) {
      Py_DECREF(tuple);
      throw_python_exception(known);
    }
    PyTuple_SET_ITEM(tuple, Py_ssize_t(index), object);
  }
  return tuple;
}

py::object run(const SharedCode& self, const py::args& args) {
  const PythonTable& known = table();
  return take_result(called_from_python(known, [&] {
    const Values inputs = inputs_from(known, *self.code, 0, args);
    return objects_from(known, *self.code, 0, self.code->run(inputs));
  }));
}

py::object run_one_stage(State& self, const py::args& args) {
  const PythonTable& known = table();
  return take_result(called_from_python(known, [&] {
    const std::size_t stage = self.stage();
    Values outputs;
    self.run_one_stage(inputs_from(known, *self.code(), stage, args), outputs);
    return objects_from(known, *self.code(), stage, outputs);
  }));
}

py::object begin_stage(State& self, const py::args& args) {
  const PythonTable& known = table();
  return take_result(called_from_python(known, [&] {
    self.begin_stage(inputs_from(known, *self.code(), self.stage(), args));
    return Py_NewRef(Py_None);
  }));
}

py::object resume(State& self) {
  const PythonTable& known = table();
  return take_result(called_from_python(known, [&] {
    const std::size_t stage = self.stage();
    Values outputs;
    self.resume(outputs);
    return objects_from(known, *self.code(), stage, outputs);
  }));
}

py::object step(State& self) {
  return take_result(called_from_python(table(), [&] { return PyBool_FromLong(self.step()); }));
}

py::object run_to(State& self, const SharedNode& node) {
  return take_result(
      called_from_python(table(), [&] { return PyBool_FromLong(self.run_to(node.item)); }));
}

py::object read(const State& self, const SharedValue& value) {
  const PythonTable& known = table();
  const std::optional<opyard::Value> found = self.read(value.item);
  if (!found) {
    fail(ErrorKind::NotFound,
         "no register holds %" + value.item->printed_name() +
             " now: it is not computed yet, died at its last use, or has no register");
  }
  return take_result(known.from_value(&known, value.item->type().get(), &*found));
}

py::list live_values(const State& self) {
  py::list values;
  for (const jit::Value* value : self.live_values()) {
    values.append(py::cast(share(self.code()->graph_ptr(), const_cast<jit::Value*>(value))));
  }
  return values;
}

py::object node_of(const State& self) {
  const jit::Node* const node = self.node();
  if (node == nullptr) return py::none();
  return py::cast(share(self.code()->graph_ptr(), const_cast<jit::Node*>(node)));
}

void add_code(py::class_<SharedCode>& code) {
  code.def(py::init([](const SharedGraph& graph) { return SharedCode{jit::compile(graph.graph)}; }),
           py::arg("graph"))
      .def("__call__", &run, "runs a graph of one stage")
      .def_property_readonly(
          "graph", [](const SharedCode& self) { return SharedGraph{self.code->graph_ptr()}; })
      .def_property_readonly("stage_count",
                             [](const SharedCode& self) { return self.code->stage_count(); })
      .def("input_count",
           [](const SharedCode& self, std::size_t stage) { return self.code->input_count(stage); })
      .def("output_count",
           [](const SharedCode& self, std::size_t stage) { return self.code->output_count(stage); })
      .def_property_readonly("register_count",
                             [](const SharedCode& self) { return self.code->register_count(); })
      .def_property_readonly("instruction_count",
                             [](const SharedCode& self) { return self.code->instruction_count(); })
      .def(
          "register_of",
          [](const SharedCode& self, const SharedValue& value) {
            return self.code->register_of(value.item);
          },
          "the register of a value, or -1")
      .def(
          "disassemble", [](const SharedCode& self) { return self.code->disassemble(); },
          "a line an instruction; ! marks a last use")
      .def("__repr__", [](const SharedCode& self) { return self.code->disassemble(); });
}

void add_state(py::class_<State>& state) {
  state
      .def(py::init([](const SharedCode& code) { return std::make_unique<State>(code.code); }),
           py::arg("code"))
      .def("run_one_stage", &run_one_stage, "runs the next stage; gives its outputs")
      .def("begin_stage", &begin_stage, "takes the inputs of the next stage and runs nothing yet")
      .def("step", &step, "runs one instruction; False if the stage has no more")
      .def("run_to", &run_to, "runs until this node is next; False if the stage ended before")
      .def("resume", &resume, "runs to the end of the stage; gives its outputs")
      .def(
          "clone", [](const State& self) { return std::make_unique<State>(self.clone()); },
          "the same position and values; the two are independent from then on")
      .def_property_readonly("code", [](const State& self) { return SharedCode{self.code()}; })
      .def_property_readonly("stage", &State::stage, "the stage that runs, or is next")
      .def_property_readonly("is_inside_stage", &State::is_inside_stage)
      .def_property_readonly("is_finished", &State::is_finished)
      .def_property_readonly("instruction", &State::instruction,
                             "the number of the next one, or None")
      .def("node", &node_of, "the node of the next instruction, or None")
      .def("read", &read, "what the register of a value holds now; LookupError if none does")
      .def("live_values", &live_values, "the values that registers hold now")
      .def(
          "type_for_input",
          [](const State& self, std::size_t index) {
            return jit::type_text(self.type_for_input(index));
          },
          "what an input of the current stage is declared as");
}

}  // namespace

void add_runs(py::module_& module) {
  py::class_<SharedCode> code(module, "Code", "A graph as flat code.");
  py::class_<State> state(module, "InterpreterState", "One run of a code, stage by stage.");
  add_code(code);
  add_state(state);
}

}  // namespace opyard::graphs
