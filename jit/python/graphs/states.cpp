// graphs/states.cpp: InterpreterState in Python: stepping, reading, budgets, times.
#include "graphs/runs.h"

#include <chrono>
#include <string_view>

#include "opyard/detail/bind/classes.h"
#include "opyard/jit/types.h"

namespace opyard::graphs {
namespace {

using State = SharedState;

template <typename Body>
auto from_python(Body&& body) {
  py::object result =
      take_result(called_from_python(table(), [&] { return py::cast(body()).release().ptr(); }));
  return result;
}

py::object read(const State& self, const py::object& object) {
  const auto& value = require_argument<SharedValue>(object, "read() takes a Value");
  const PythonTable& known = table();
  const std::optional<opyard::Value> found = self.state.read(value.item);
  if (!found) {
    fail(ErrorKind::NotFound,
         "no register holds %" + value.item->printed_name() +
             " now: it is not computed yet, died at its last use, or has no register");
  }
  return take_result(known.from_value(&known, value.item->type().get(), &*found));
}

py::list live_values(const State& self) {
  py::list values;
  for (const jit::Value* value : self.state.live_values()) {
    values.append(py::cast(share(self.state.code()->graph_ptr(), const_cast<jit::Value*>(value))));
  }
  return values;
}

py::object state_node(const State& self) {
  const jit::Node* const node = self.state.node();
  if (node == nullptr) return py::none();
  return py::cast(share(self.state.code()->graph_ptr(), const_cast<jit::Node*>(node)));
}

py::bytes save(const State& self) {
  const std::string bytes = self.state.save();
  return py::bytes(bytes.data(), bytes.size());
}

std::unique_ptr<State> load(const py::object& code, const py::object& bytes) {
  const auto& shared =
      require_argument<SharedCode>(code, "load() takes the Code of the saved state first");
  if (!PyBytes_Check(bytes.ptr())) {
    throw py::type_error(std::string("load() takes the bytes that save() gave, not ") +
                         Py_TYPE(bytes.ptr())->tp_name);
  }
  const std::string_view given(PyBytes_AS_STRING(bytes.ptr()),
                               std::size_t(PyBytes_GET_SIZE(bytes.ptr())));
  return std::make_unique<State>(jit::InterpreterState::load(shared.code, given), shared.stages);
}

// None is no limit.
void set_budget(State& self, std::optional<std::uint64_t> steps, std::optional<std::size_t> bytes,
                std::optional<double> seconds) {
  jit::RunBudget budget;
  if (steps) budget.steps = *steps;
  if (bytes) budget.bytes = *bytes;
  constexpr double kMost = 1e9;  // seconds; as good as none
  if (seconds) {
    OPYARD_CHECK(*seconds >= 0, BadValue, "set_budget: seconds is below zero, or no number");
    if (*seconds < kMost) budget.time = std::chrono::nanoseconds(std::int64_t(*seconds * 1e9));
  }
  self.state.set_budget(budget);
}

// (count, nanoseconds) of each instruction.
py::list times(const State& self) {
  py::list list;
  for (const jit::InstructionTime& each : self.state.times()) {
    list.append(py::make_tuple(each.count, each.nanoseconds));
  }
  return list;
}

void add_positions(py::class_<State>& state) {
  state
      .def_property_readonly(
          "code", [](const State& self) { return share_code(self.state.code()); },
          "the code that it runs")
      .def_property_readonly(
          "stage", [](const State& self) { return self.state.stage(); },
          "the stage that runs, or is next")
      .def_property_readonly(
          "is_inside_stage", [](const State& self) { return self.state.is_inside_stage(); },
          "whether a stage has begun and not ended")
      .def_property_readonly(
          "is_finished", [](const State& self) { return self.state.is_finished(); },
          "whether all stages have run")
      .def_property_readonly(
          "instruction", [](const State& self) { return self.state.instruction(); },
          "the number of the next one, or None")
      .def("node", &state_node, "the node of the next instruction, or None")
      .def("read", &read, py::arg("value"),
           "what the register of a value holds now; LookupError if none does")
      .def("live_values", &live_values, "the values that registers hold now")
      .def(
          "type_for_input",
          [](const State& self, std::size_t index) {
            return jit::type_text(self.state.type_for_input(index));
          },
          py::arg("index"), "what an input of the current stage is declared as");
}

void add_watches(py::class_<State>& state) {
  state
      .def("set_budget", &set_budget, py::kw_only(), py::arg("steps") = py::none(),
           py::arg("bytes") = py::none(), py::arg("seconds") = py::none(),
           "what the run may cost from now on; past it a run raises, and can be resumed with "
           "another")
      .def(
          "check_frees", [](State& self, bool on) { self.state.check_frees(on); },
          py::arg("on") = true, "whether each step is checked against the plan of lifetimes()")
      .def(
          "measure", [](State& self, bool on) { self.state.measure(on); }, py::arg("on") = true,
          "whether instructions are timed from now on")
      .def("_times", &times);
}

}  // namespace

void add_states(py::module_& module) {
  py::class_<State> state(module, "InterpreterState",
                          "InterpreterState(code)\n--\n\nOne run of a code, stage by stage.");
  state
      .def(py::init([](const py::object& code) {
             const auto& shared =
                 require_argument<SharedCode>(code, "InterpreterState() takes a Code");
             return std::make_unique<State>(jit::InterpreterState(shared.code), shared.stages);
           }),
           py::arg("code"))
      .def(
          "step", [](State& self) { return from_python([&] { return self.state.step(); }); },
          "runs one instruction; False if the stage has no more")
      .def(
          "run_to",
          [](State& self, const py::object& node) {
            const auto& wanted = require_argument<SharedNode>(node, "run_to() takes a Node");
            return from_python([&] { return self.state.run_to(wanted.item); });
          },
          py::arg("node"), "runs until this node is next; False if the stage ended before")
      .def(
          "clone",
          [](const State& self) {
            return std::make_unique<State>(self.state.clone(), self.stages);
          },
          "the same position and values; the two are independent from then on")
      .def("save", &save, "position and values as bytes, which another process may load()")
      .def_static("load", &load, py::arg("code"), py::arg("bytes"),
                  "a state that save() gave, of a code of the same graph");
  add_positions(state);
  add_watches(state);
  add_stage_methods(state);
  python::make_in_new(state);
  python::refuse_pickling(state);
}

}  // namespace opyard::graphs
