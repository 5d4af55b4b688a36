// gradients/tensors.cpp: the gradient state of a tensor.
#include "gradients/gradients.h"
#include "opyard/detail/python/clear.h"

namespace opyard::gradients {
namespace {

using namespace autograd;  // NOLINT: this file is about it

py::object get_requires(const py::object& tensor) {
  return guarded_call([&] { return PyBool_FromLong(requires_gradient(tensor_of(tensor))); });
}
py::object set_requires(const py::object& tensor, bool required) {
  return guarded_call([&] {
    require_gradient(tensor_of(tensor), required);
    return Py_NewRef(tensor.ptr());
  });
}
py::object get_is_leaf(const py::object& tensor) {
  return guarded_call([&] { return PyBool_FromLong(is_leaf(tensor_of(tensor))); });
}
py::object get_grad(const py::object& tensor) {
  return guarded_call([&] { return to_object_or_none(table(), gradient_of(tensor_of(tensor))); });
}
py::object set_grad(const py::object& tensor, const py::object& gradient) {
  return guarded_call([&] {
    set_gradient(tensor_of(tensor), optional_tensor(table(), gradient.ptr()));
    return Py_NewRef(Py_None);
  });
}
py::object get_function(const py::object& tensor) {
  FunctionPtr function;
  guarded_call([&] {
    function = history_of(tensor_of(tensor)).function;
    return Py_NewRef(Py_None);
  });
  return function ? object_for(tensor_of(tensor), function) : py::none();
}
py::object get_output_nr(const py::object& tensor) {
  return guarded_call([&] { return PyLong_FromLong(long(history_of(tensor_of(tensor)).input)); });
}
py::object retain(const py::object& tensor) {
  return guarded_call([&] {
    retain_gradient(tensor_of(tensor));
    return Py_NewRef(Py_None);
  });
}
py::object get_retains(const py::object& tensor) {
  return guarded_call([&] { return PyBool_FromLong(retains_gradient(tensor_of(tensor))); });
}

// A Python function as a hook of a tensor.
Hooks::OfTensor hook_of(const std::shared_ptr<Held>& held) {
  return [held](const Tensor& gradient) -> Tensor {
    const PythonTable& own = held->table();
    const HoldPython python(own);
    const py::object argument = py::reinterpret_steal<py::object>(to_object(own, gradient));
    const py::object result = py::reinterpret_steal<py::object>(require_object(
        own, python::in_python([&] { return PyObject_CallOneArg(held->get(), argument.ptr()); })));
    if (result.is_none()) return {};
    if (own.unwrap_tensor(&own, result.ptr()) == nullptr) {
      if (!python::clear_if(PyExc_TypeError)) throw_python_exception(own);
      fail(ErrorKind::BadArgument, std::string("expected Variable, but hook returned '") +
                                       Py_TYPE(result.ptr())->tp_name +
                                       "'; a hook gives a Tensor, or None to leave it as it is");
    }
    return require_tensor(own, result.ptr());
  };
}

// The function that the hook is at, and its number.
py::object add_tensor_hook(const py::object& tensor, const py::object& hook) {
  Edge edge;
  std::uint64_t number = 0;
  guarded_call([&] {
    const Tensor& on = tensor_of(tensor);
    edge = edge_of(on);
    const auto held = std::make_shared<Held>(table(), hook.ptr());
    number = add_hook(on, hook_of(held), held);
    return Py_NewRef(Py_None);
  });
  return py::make_tuple(object_of(edge.function), number);
}

py::object another_tensor_of(const py::object& tensor) {
  return guarded_call([&] { return to_object(table(), another_tensor(tensor_of(tensor))); });
}

py::object increment_version_of(const py::object& tensor) {
  return guarded_call([&] {
    tensor_of(tensor).impl()->storage()->bump_version();
    return Py_NewRef(Py_None);
  });
}

// The placeholder of an edge where a run begins or ends: a tensor whose history is the edge, with
// the sizes and the dtype of the gradient there, and memory for one element.
py::object tensor_at(const SharedFunction& function, std::uint32_t input) {
  return guarded_call([&] {
    OPYARD_CHECK(input < function.function->input_count(), BadValue,
                 function.function->name() + " has " +
                     std::to_string(function.function->input_count()) +
                     " inputs, and the edge leads to input " + std::to_string(input));
    const Expected& expected = function.function->input(input);
    const Tensor one = Tensor::empty({}, expected.dtype, expected.device);
    const DimVector strides(expected.sizes.size(), 0);
    const Tensor stand_in(make_counted<TensorImpl>(one.impl()->storage(), expected.dtype,
                                                   expected.sizes, strides, 0, one.keys()));
    set_history(stand_in, Edge{function.function, input});
    return to_object(table(), stand_in);
  });
}

// Where the gradient of a tensor goes: a function, and the number of its input; None if nowhere.
py::object edge_of_tensor(const py::object& tensor) {
  Edge edge;
  guarded_call([&] {
    edge = edge_of(tensor_of(tensor));
    return Py_NewRef(Py_None);
  });
  if (!edge) return py::none();
  return py::make_tuple(object_of(edge.function), edge.input);
}

py::object detached_of(const py::object& tensor) {
  return guarded_call([&] { return to_object(table(), detached(tensor_of(tensor))); });
}

}  // namespace

void add_tensors(py::module_& module) {
  module.def("requires_grad", &get_requires);
  module.def("set_requires_grad", &set_requires);
  module.def("is_leaf", &get_is_leaf);
  module.def("grad", &get_grad);
  module.def("set_grad", &set_grad);
  module.def("grad_fn", &get_function);
  module.def("output_nr", &get_output_nr);
  module.def("retain_grad", &retain);
  module.def("retains_grad", &get_retains);
  module.def("add_tensor_hook", &add_tensor_hook);
  module.def("detached", &detached_of);
  module.def("tensor_at", &tensor_at);
  module.def("edge_of", &edge_of_tensor);
  module.def("increment_version", &increment_version_of);
  module.def("another_tensor", &another_tensor_of);
}

}  // namespace opyard::gradients
