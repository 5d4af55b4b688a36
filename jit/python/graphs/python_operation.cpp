// graphs/python_operation.cpp: a Python function as a node of a graph: prim::PythonOp.
//
// The calling string has a letter for each argument of the function: "t" takes the node's next
// input, "s" the next of the scalar arguments, which are Python objects that were given with the
// function. A tuple as the result is one output for each element, anything else is one output; all
// are tensors.
//
// The function belongs to the interpreter that gave it. A run on a thread outside of Python enters
// that interpreter; a run in another one, or after its end, raises and names it.
#include "graphs/graphs.h"

#include <utility>

#include "opyard/detail/python/clear.h"
#include "opyard/jit/operation.h"
#include "opyard/jit/symbol.h"

namespace opyard::graphs {
namespace {

// A reference that may be dropped on any thread.
class Held {
 public:
  Held(const PythonTable& known, PyObject* object) : table_(&known), object_(Py_NewRef(object)) {}
  Held(Held&& other) noexcept
      : table_(other.table_), object_(std::exchange(other.object_, nullptr)) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    if (object_ != nullptr) table_->drop(table_, object_);
  }
  PyObject* get() const noexcept { return object_; }
  // For the garbage collector; const as the operation is.
  int visit(visitproc visit, void* arg) const {
    Py_VISIT(object_);
    return 0;
  }
  void clear() const { Py_CLEAR(object_); }

 private:
  const PythonTable* table_;
  mutable PyObject* object_;
};

class PythonOperation final : public jit::Operation {
 public:
  PythonOperation(const PythonTable& known, PyObject* function, std::string name,
                  std::string calling, std::vector<Held> scalars)
      : table_(known),
        function_(known, function),
        name_(std::move(name)),
        calling_(std::move(calling)),
        scalars_(std::move(scalars)) {}

  void run(std::span<const opyard::Value> inputs,
           std::vector<opyard::Value>& outputs) const override {
    const HoldPython python(table_);
    OPYARD_CHECK(function_.get() != nullptr, BadGraph,
                 name_ + ": the garbage collector took the function, with all that knew the graph");
    const py::object result = call(arguments_of(inputs));
    if (!PyTuple_Check(result.ptr())) return add_output(result.ptr(), outputs);
    for (const py::handle each : py::reinterpret_borrow<py::tuple>(result)) {
      add_output(each.ptr(), outputs);
    }
  }
  std::string name() const override { return name_; }

  int visit(visitproc visit, void* argument) const {
    for (const Held& scalar : scalars_) {
      if (const int stop = scalar.visit(visit, argument)) return stop;
    }
    return function_.visit(visit, argument);
  }
  void clear() const {
    function_.clear();
    for (const Held& scalar : scalars_) scalar.clear();
  }

 private:
  py::tuple arguments_of(std::span<const opyard::Value> inputs) const {
    py::tuple arguments(calling_.size());
    std::size_t next_input = 0;
    std::size_t next_scalar = 0;
    for (std::size_t index = 0; index < calling_.size(); ++index) {
      PyObject* const object =
          calling_[index] == 's'
              ? Py_NewRef(scalars_[next_scalar++].get())
              : require_object(table_, table_.from_value(&table_, nullptr, &inputs[next_input++]));
      PyTuple_SET_ITEM(arguments.ptr(), Py_ssize_t(index), object);
    }
    return arguments;
  }

  py::object call(const py::tuple& arguments) const {
    return py::reinterpret_steal<py::object>(require_object(
        table_,
        python::in_python([&] { return PyObject_CallObject(function_.get(), arguments.ptr()); })));
  }

  void add_output(PyObject* object, std::vector<opyard::Value>& outputs) const {
    const Tensor* const tensor = table_.unwrap_tensor(&table_, object);
    if (tensor == nullptr) {
      // The TypeError does not know what the object was a result of.
      if (!python::clear_if(PyExc_TypeError)) throw_python_exception(table_);
      fail(ErrorKind::BadReturn,
           name_ + ": a function of a graph gives Tensors, or a tuple of them; output " +
               std::to_string(outputs.size()) + " is of type " + Py_TYPE(object)->tp_name);
    }
    outputs.emplace_back(*tensor);
  }

  const PythonTable& table_;
  const Held function_;
  const std::string name_;
  const std::string calling_;
  const std::vector<Held> scalars_;
};

void check_calling(const std::string& name, const std::string& calling, std::size_t scalars,
                   std::size_t inputs) {
  std::size_t count[2] = {0, 0};
  for (const char letter : calling) {
    if (letter != 's' && letter != 't') {
      fail(ErrorKind::BadValue,
           name + ": a calling string is made of 't' for an input and 's' for a scalar, not '" +
               calling + "'");
    }
    ++count[letter == 't'];
  }
  if (count[0] != scalars || count[1] != inputs) {
    fail(ErrorKind::BadValue,
         name + ": the calling string '" + calling + "' asks for " + std::to_string(count[1]) +
             " inputs and " + std::to_string(count[0]) + " scalars, and " + std::to_string(inputs) +
             " and " + std::to_string(scalars) + " were given");
  }
}

// What a graph's text shows of them.
opyard::Value scalar_texts(const py::list& scalars) {
  std::vector<opyard::Value> texts;
  for (const py::handle scalar : scalars) texts.emplace_back(std::string(py::repr(scalar)));
  return opyard::Value::tuple(std::move(texts));
}

SharedNode create_python_op(SharedGraph& graph, const py::object& function, const std::string& name,
                            const std::vector<SharedValue>& inputs, const std::string& calling,
                            const py::list& scalars, std::size_t outputs) {
  check_calling(name, calling, scalars.size(), inputs.size());
  std::vector<jit::Value*> items;
  for (const SharedValue& input : inputs) items.push_back(input.item);
  graph.has_functions = true;
  return share(graph.graph,
               make_python_op(*graph.graph, function, name, items, calling, scalars, outputs));
}

// visit(operation) for those that belong to this graph alone, until it gives another number than 0.
template <typename Visit>
int each_function(const jit::Block& block, const Visit& visit) {
  for (const jit::Node* const node : block.nodes()) {
    for (const jit::Block* const inner : node->blocks()) {
      if (const int stop = each_function(*inner, visit)) return stop;
    }
    if (node->payload() == nullptr || node->payload()->owner_count() != 1) continue;
    const auto* operation = dynamic_cast<const jit::Operation*>(node->payload().get());
    while (operation != nullptr && operation->inner() != nullptr) {
      operation = operation->inner()->owner_count() == 1 ? operation->inner() : nullptr;
    }
    if (const auto* const found = dynamic_cast<const PythonOperation*>(operation)) {
      if (const int stop = visit(*found)) return stop;
    }
  }
  return 0;
}

}  // namespace

jit::Node* make_python_op(jit::Graph& graph, const py::object& function, const std::string& name,
                          std::span<jit::Value* const> inputs, const std::string& calling,
                          const py::list& scalars, std::size_t outputs) {
  const PythonTable& known = table();
  std::vector<Held> held;
  for (const py::handle scalar : scalars) held.emplace_back(known, scalar.ptr());
  jit::Node* const node = graph.create(jit::prim::PythonOp, inputs, outputs);
  node->s_(jit::attr::name, name);
  node->s_(jit::attr::cconv, calling);
  node->ival_(jit::Symbol::attr("scalar_args"), scalar_texts(scalars));
  node->set_payload(
      make_counted<PythonOperation>(known, function.ptr(), name, calling, std::move(held)));
  return node;
}

bool holds_functions(const jit::Graph& graph) {
  return each_function(*graph.block(), [](const PythonOperation&) { return 1; }) != 0;
}

int visit_functions(const jit::Graph& graph, visitproc visit, void* argument) {
  return each_function(*graph.block(), [&](const PythonOperation& operation) {
    return operation.visit(visit, argument);
  });
}

void clear_functions(const jit::Graph& graph) {
  each_function(*graph.block(), [](const PythonOperation& operation) {
    operation.clear();
    return 0;
  });
}

void add_python_operation(py::module_& module) {
  module.def("create_python_op", &create_python_op, py::arg("graph"), py::arg("function"),
             py::arg("name"), py::arg("inputs"), py::arg("calling"), py::arg("scalars"),
             py::arg("outputs"));
}

}  // namespace opyard::graphs
