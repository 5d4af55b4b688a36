// gradients/derivative_calls.cpp: derivatives of calls that another framework taped.
//
// A call takes by position what the derivative uses, as DerivativeCall::run() of one list does. It
// is a slot of the type, and arrays of other libraries are taken as operators take them: the
// gradients are of their kind (PythonTable::call_run).
#include "gradients/gradients.h"
#include "opyard/autograd/derivative_call.h"
#include "opyard/detail/bind/classes.h"
#include "opyard/detail/bind/slot.h"

namespace opyard::gradients {
namespace {

using autograd::DerivativeCall;
using autograd::DerivativeUse;

// What is None was not given, or is zero, whatever its type is.
TypePtr or_none(const TypePtr& type) {
  return type->kind() == TypeKind::Optional ? type : optional_of(type);
}

// A derivative, and how its calls are converted.
struct BoundDerivative {
  explicit BoundDerivative(const Operator& op)
      : call(op), name("the derivative of " + to_string(op.name())) {
    const Schema& schema = op.schema();
    const DerivativeUse& use = call.use();
    for (const std::size_t i : use.gradients) {
      add("gradient of result", i, gradient_type(schema.results[i].type));
    }
    for (const std::size_t i : use.arguments) {
      add("argument", i, or_none(schema.arguments[i].type));
    }
    for (const std::size_t i : use.results) {
      add("result", i, or_none(schema.results[i].type));
    }
    add("wanted", use.gives.size(), list_of(base_type(TypeKind::Bool)));
    for (const std::string& label : labels) names.push_back(label.c_str());
  }
  BoundDerivative(const BoundDerivative&) = delete;
  BoundDerivative& operator=(const BoundDerivative&) = delete;

  // Of a tensor or of a list of them.
  static TypePtr gradient_type(const TypePtr& type) {
    const TypePtr one = optional_of(base_type(TypeKind::Tensor));
    return type->kind() == TypeKind::List ? list_of(one) : one;
  }
  void add(const char* what, std::size_t number, TypePtr type) {
    labels.push_back(std::string(what) + " " + std::to_string(number));
    inputs.push_back(std::move(type));
  }

  DerivativeCall call;
  std::string name;
  std::vector<std::string> labels;
  std::vector<const char*> names;
  std::vector<TypePtr> inputs;
  TypePtr output = list_of(base_type(TypeKind::Tensor));
};

void run_derivative(void* context, std::span<const Value> inputs, std::span<Value> outputs) {
  outputs[0] = static_cast<const DerivativeCall*>(context)->run(inputs);
}

PyObject* call_derivative(PyObject* self, PyObject* args, PyObject* kwargs) {
  const auto* const bound = python::find_held<BoundDerivative>(self);
  return python::in_slot([&](const PythonTable& known) -> PyObject* {
    if (kwargs != nullptr && PyDict_GET_SIZE(kwargs) != 0) {
      fail(ErrorKind::BadArgument, bound->name + " takes its values by position");
    }
    const PythonRun run = {bound->name.c_str(),  bound->inputs.data(),
                           bound->names.data(),  nullptr,
                           bound->inputs.size(), false,
                           &bound->output,       1,
                           &run_derivative,      const_cast<DerivativeCall*>(&bound->call)};
    return known.call_run(&known, &run, PySequence_Fast_ITEMS(args),
                          std::size_t(PyTuple_GET_SIZE(args)));
  });
}

std::unique_ptr<BoundDerivative> make_derivative_call(const py::object& op) {
  std::unique_ptr<BoundDerivative> made;
  guarded_call([&] {
    const Operator* const found = table().unwrap_operator(&table(), op.ptr());
    if (found == nullptr) throw_python_exception(table());
    made = std::make_unique<BoundDerivative>(*found);
    return Py_NewRef(Py_None);
  });
  return made;
}

}  // namespace

void add_derivative_calls(py::module_& module) {
  py::class_<DerivativeUse>(module, "DerivativeUse")
      .def_readonly("arguments", &DerivativeUse::arguments)
      .def_readonly("results", &DerivativeUse::results)
      .def_readonly("gradients", &DerivativeUse::gradients)
      .def_readonly("gives", &DerivativeUse::gives)
      .def_readonly("missing", &DerivativeUse::missing);
  py::class_<BoundDerivative>(module, "DerivativeCall",
                              "Gradients of calls by an operator's derivative, without a tape.",
                              py::custom_type_setup([](PyHeapTypeObject* type) {
                                type->ht_type.tp_call = &call_derivative;
                              }))
      .def("__bool__", [](const BoundDerivative& self) { return bool(self.call); })
      .def("use", [](const BoundDerivative& self) { return self.call.use(); });
  for (const char* name : {"DerivativeUse", "DerivativeCall"}) {
    python::refuse_pickling(module.attr(name));
    python::refuse_new(module.attr(name), "derivative_call() and its use() make them");
  }
  module.def("derivative_call", &make_derivative_call, py::arg("op"));
}

}  // namespace opyard::gradients
