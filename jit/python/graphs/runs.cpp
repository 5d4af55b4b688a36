// graphs/runs.cpp: entering a run from Python: graph(*args), code(*args), stages of a state.
//
// Arguments are converted by the types of the graph's inputs as an operator's are by its schema, so
// arrays of other libraries are tensors here, too, and outputs come back as arrays of their kind.
// One output comes as itself, several as a tuple.
//
// [Entering] A run is a call path. These functions are slots and method descriptors of the types,
// which CPython calls without pybind11 in between, and opyard._C converts (PythonTable::call_run).
#include "graphs/runs.h"

#include <algorithm>

#include "opyard/detail/bind/refused_calls.h"
#include "opyard/detail/bind/slot.h"

namespace opyard::graphs {
namespace {

using python::find_held;
using python::in_slot;
using Values = std::vector<opyard::Value>;

StageTypes types_of(const jit::Code& code, std::size_t stage, std::size_t first) {
  const jit::Graph& graph = code.graph();
  return stage_types(graph, first, code.input_count(stage), stage,
                     [&](std::size_t i) { return graph.inputs()[first + i]->printed_name(); });
}

template <typename T>
T* require_held(PyObject* self) {
  T* const held = find_held<T>(self);
  if (held == nullptr) {
    PyErr_Format(PyExc_TypeError, "%s.__init__() was not called", Py_TYPE(self)->tp_name);
  }
  return held;
}

// The inputs of a stage that are given by name, behind those by position: a tuple of all of them.
py::object in_order(const StageTypes& types, PyObject* self, PyObject* args, PyObject* kwargs) {
  if (kwargs == nullptr || PyDict_GET_SIZE(kwargs) == 0) {
    return py::reinterpret_borrow<py::object>(args);
  }
  constexpr std::string_view kBefore = "input %";
  const auto names = py::reinterpret_borrow<py::dict>(kwargs);
  const auto count = std::size_t(PyTuple_GET_SIZE(args));
  const std::string who(python::last_name(Py_TYPE(self)->tp_name));
  py::tuple all(types.inputs.size());
  std::size_t found = 0;
  for (std::size_t i = 0; i < types.inputs.size(); ++i) {
    const py::str name(types.labels[i].substr(kBefore.size()));
    const bool is_named = names.contains(name);
    if (is_named && i < count) {
      fail(ErrorKind::BadArgument, who + "() got " + types.labels[i] + " by position and by name");
    }
    if (!is_named && i >= count) fail(ErrorKind::BadArgument, who + "() got no " + types.labels[i]);
    all[i] = is_named ? py::object(names[name])
                      : py::reinterpret_borrow<py::object>(PyTuple_GET_ITEM(args, i));
    found += is_named ? 1 : 0;
  }
  if (found == names.size() && count <= all.size()) return all;
  std::string has;
  for (const std::string& label : types.labels) has += (has.empty() ? "" : ", ") + label;
  fail(ErrorKind::BadArgument, who + "() was given " + std::string(py::repr(names.attr("keys")())) +
                                   " by name and " + std::to_string(count) +
                                   " by position; it takes " + (has.empty() ? "no inputs" : has));
}

// ---- codes and graphs

void run_code(void* context, std::span<const opyard::Value> inputs,
              std::span<opyard::Value> outputs) {
  static_cast<const jit::Code*>(context)->run(inputs, outputs);
}

PyObject* call_code(const PythonTable& known, const SharedCode& shared, PyObject* self,
                    PyObject* args, PyObject* kwargs) {
  const jit::CodePtr code = shared.code;
  const auto stages = shared.stages;
  const py::object inputs = in_order(stages->front(), self, args, kwargs);
  return call_run(known, stages->front(), &run_code, const_cast<jit::Code*>(code.get()),
                  PySequence_Fast_ITEMS(inputs.ptr()), std::size_t(PyTuple_GET_SIZE(inputs.ptr())));
}

PyObject* code_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  const auto* const shared = require_held<SharedCode>(self);
  if (shared == nullptr) return nullptr;
  return in_slot(
      [&](const PythonTable& known) { return call_code(known, *shared, self, args, kwargs); });
}

// The code of the last call, or a new one: jit.compile() loads the operators that it names.
const SharedCode& code_of(SharedGraph& shared, PyObject* self) {
  if (shared.code.code == nullptr || shared.code.version != shared.graph->version()) {
    const py::object code = python::ask_hook("compile_graph", py::handle(self));
    shared.code = code.cast<const SharedCode&>();
  }
  return shared.code;
}

PyObject* graph_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  auto* const shared = require_held<SharedGraph>(self);
  if (shared == nullptr) return nullptr;
  return in_slot([&](const PythonTable& known) {
    return call_code(known, code_of(*shared, self), self, args, kwargs);
  });
}

// ---- states

void move_to(std::span<opyard::Value> outputs, Values&& given) {
  std::move(given.begin(), given.end(), outputs.begin());
}

void run_stage(void* context, std::span<const opyard::Value> inputs,
               std::span<opyard::Value> outputs) {
  Values given;
  static_cast<jit::InterpreterState*>(context)->run_one_stage(inputs, given);
  move_to(outputs, std::move(given));
}
void begin_stage(void* context, std::span<const opyard::Value> inputs, std::span<opyard::Value>) {
  static_cast<jit::InterpreterState*>(context)->begin_stage(inputs);
}
void resume_stage(void* context, std::span<const opyard::Value>, std::span<opyard::Value> outputs) {
  Values given;
  static_cast<jit::InterpreterState*>(context)->resume(given);
  move_to(outputs, std::move(given));
}

// Past the last stage no types are known, and the state says so by itself.
const StageTypes& types_now(const SharedState& self) {
  static const StageTypes& none = *new StageTypes;
  const std::size_t stage = self.state.stage();
  return stage < self.stages->size() ? (*self.stages)[stage] : none;
}

PyObject* state_run_one_stage(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  auto* const held = require_held<SharedState>(self);
  if (held == nullptr) return nullptr;
  return in_slot([&](const PythonTable& known) {
    return call_run(known, types_now(*held), &run_stage, &held->state, args, std::size_t(count));
  });
}

PyObject* state_begin_stage(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  auto* const held = require_held<SharedState>(self);
  if (held == nullptr) return nullptr;
  return in_slot([&](const PythonTable& known) {
    StageTypes types = types_now(*held);  // no outputs yet
    types.outputs.clear();
    types.names.clear();
    for (const std::string& label : types.labels) types.names.push_back(label.c_str());
    return call_run(known, types, &begin_stage, &held->state, args, std::size_t(count));
  });
}

PyObject* state_resume(PyObject* self, PyObject*) {
  auto* const held = require_held<SharedState>(self);
  if (held == nullptr) return nullptr;
  return in_slot([&](const PythonTable& known) {
    return call_run(known, types_now(*held), &resume_stage, &held->state, nullptr, 0);
  });
}

template <typename Function>
PyCFunction method(Function function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef state_methods[] = {
    {"run_one_stage", method(&state_run_one_stage), METH_FASTCALL,
     "run_one_stage($self, /, *inputs)\n--\n\nRuns the next stage; gives its outputs."},
    {"begin_stage", method(&state_begin_stage), METH_FASTCALL,
     "begin_stage($self, /, *inputs)\n--\n\nTakes the inputs of the next stage and runs nothing "
     "yet."},
    {"resume", method(&state_resume), METH_NOARGS,
     "resume($self, /)\n--\n\nRuns to the end of the stage; gives its outputs."}};

// ---- the garbage collector: graphs.h [Cycles]

bool owns_alone(const SharedGraph& shared) {
  const jit::Code* const code = shared.code.code.get();
  if (code == nullptr) return shared.graph->owner_count() == 1;
  return code->owner_count() == 1 && &code->graph() == shared.graph.get() &&
         shared.graph->owner_count() == 2;
}

int traverse_graph(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const auto* const shared = find_held<SharedGraph>(self);
  if (shared == nullptr || !shared->has_functions || !owns_alone(*shared)) return 0;
  return visit_functions(*shared->graph, visit, arg);
}
int clear_graph(PyObject* self) {
  const auto* const shared = find_held<SharedGraph>(self);
  if (shared != nullptr && shared->has_functions) clear_functions(*shared->graph);
  return 0;
}

int traverse_code(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const auto* const shared = find_held<SharedCode>(self);
  if (shared == nullptr || !shared->has_functions || shared->code->owner_count() != 1) return 0;
  if (shared->code->graph().owner_count() != 1) return 0;
  return visit_functions(shared->code->graph(), visit, arg);
}
int clear_code(PyObject* self) {
  const auto* const shared = find_held<SharedCode>(self);
  if (shared != nullptr && shared->has_functions) clear_functions(shared->code->graph());
  return 0;
}

void set_slots(PyHeapTypeObject* heap_type, ternaryfunc call, traverseproc traverse,
               inquiry clear) {
  PyTypeObject& type = heap_type->ht_type;
  type.tp_call = call;
  type.tp_flags |= Py_TPFLAGS_HAVE_GC;
  type.tp_traverse = traverse;
  type.tp_clear = clear;
}

}  // namespace

SharedCode share_code(jit::CodePtr code) {
  std::vector<StageTypes> stages;
  std::size_t first = 0;
  for (std::size_t stage = 0; stage < code->stage_count(); ++stage) {
    stages.push_back(types_of(*code, stage, first));
    first += code->input_count(stage);
  }
  const bool has_functions = holds_functions(code->graph());
  const std::uint64_t version = code->graph().version();
  return {std::move(code), std::make_shared<const std::vector<StageTypes>>(std::move(stages)),
          version, has_functions};
}

void set_graph_slots(PyHeapTypeObject* type) {
  set_slots(type, &graph_call, &traverse_graph, &clear_graph);
}
void set_code_slots(PyHeapTypeObject* type) {
  set_slots(type, &code_call, &traverse_code, &clear_code);
}

void add_stage_methods(py::class_<SharedState>& state) {
  auto* const type = reinterpret_cast<PyTypeObject*>(state.ptr());
  for (PyMethodDef& each : state_methods) {
    state.attr(each.ml_name) = take_result(PyDescr_NewMethod(type, &each));
  }
}

}  // namespace opyard::graphs
