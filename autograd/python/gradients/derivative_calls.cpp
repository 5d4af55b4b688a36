// gradients/derivative_calls.cpp: derivatives of calls that another framework taped.
#include "gradients/gradients.h"

#include "opyard/autograd/derivative_call.h"
#include "opyard/detail/bind/classes.h"

namespace opyard::gradients {
namespace {

using autograd::DerivativeCall;
using autograd::DerivativeUse;
using autograd::Gradients;

const Operator& operator_of(const PythonTable& known, const py::object& op) {
  const Operator* const found = known.unwrap_operator(&known, op.ptr());
  if (found == nullptr) throw_python_exception(known);
  return *found;
}

std::unique_ptr<DerivativeCall> make_derivative_call(const py::object& op) {
  std::unique_ptr<DerivativeCall> made;
  guarded_call([&] {
    made = std::make_unique<DerivativeCall>(operator_of(table(), op));
    return Py_NewRef(Py_None);
  });
  return made;
}

// What is None was not kept, whatever its type is.
std::vector<Value> to_values(const PythonTable& known, const std::vector<Argument>& types,
                             const py::tuple& objects) {
  std::vector<Value> values;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const py::object object = objects[i];
    if (object.is_none() || i >= types.size()) {
      values.emplace_back();
    } else {
      values.push_back(require_value(known, *types[i].type, object.ptr(), types[i].name.c_str()));
    }
  }
  return values;
}

// Tensors of other libraries are taken as operators take them; the gradients are Tensors.
py::object run_derivative(const DerivativeCall& self, const py::tuple& arguments,
                          const py::tuple& results, const py::tuple& gradients,
                          const std::vector<bool>& wanted) {
  return guarded_call([&] {
    const PythonTable& known = table();
    const Schema& schema = self.op().schema();
    const std::vector<Value> given = to_values(known, schema.arguments, arguments);
    const std::vector<Value> got = to_values(known, schema.results, results);
    Gradients of_results;
    for (const py::handle gradient : gradients) {
      if (gradient.is_none()) {
        of_results.emplace_back();
      } else {
        of_results.push_back(
            require_value(known, *base_type(TypeKind::Tensor), gradient.ptr(), "gradient")
                .to_tensor());
      }
    }
    return to_tuple(known, self.run(given, got, std::move(of_results), wanted));
  });
}

}  // namespace

void add_derivative_calls(py::module_& module) {
  py::class_<DerivativeUse>(module, "DerivativeUse")
      .def_readonly("arguments", &DerivativeUse::arguments)
      .def_readonly("results", &DerivativeUse::results)
      .def_readonly("gradients", &DerivativeUse::gradients)
      .def_readonly("gives", &DerivativeUse::gives)
      .def_readonly("missing", &DerivativeUse::missing);
  py::class_<DerivativeCall>(module, "DerivativeCall",
                             "Gradients of calls by an operator's derivative, without a tape.")
      .def("__bool__", [](const DerivativeCall& self) { return bool(self); })
      .def("use", &DerivativeCall::use)
      .def("__call__", &run_derivative, py::arg("arguments"), py::arg("results"),
           py::arg("gradients"), py::arg("wanted"));
  for (const char* name : {"DerivativeUse", "DerivativeCall"}) {
    python::refuse_pickling(module.attr(name));
    python::refuse_new(module.attr(name), "derivative_call() and its use() make them");
  }
  module.def("derivative_call", &make_derivative_call, py::arg("op"));
}

}  // namespace opyard::gradients
