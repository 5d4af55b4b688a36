// gradients/runs.cpp: backward, grad, and the modes of a thread.
#include "gradients/gradients.h"

#include "opyard/autograd/anomaly.h"
#include "opyard/inspect/inspect.h"

namespace opyard::gradients {
namespace {

using namespace autograd;  // NOLINT: this file is about it

std::vector<Tensor> tensors_of(const PythonTable& known, const py::list& objects) {
  std::vector<Tensor> tensors;
  for (const py::handle each : objects) tensors.push_back(optional_tensor(known, each.ptr()));
  return tensors;
}

py::object run_backward(const py::list& roots, const py::list& gradients, bool keep_graph,
                        bool create_graph, const py::list& inputs) {
  return guarded_call([&] {
    const PythonTable& known = table();
    BackwardOptions options;
    options.keep_graph = keep_graph;
    options.create_graph = create_graph;
    options.inputs = tensors_of(known, inputs);
    backward(tensors_of(known, roots), tensors_of(known, gradients), options);
    return Py_NewRef(Py_None);
  });
}

py::object run_grad(const py::list& roots, const py::list& inputs, const py::list& gradients,
                    bool keep_graph, bool create_graph, bool allow_unused) {
  return guarded_call([&] {
    const PythonTable& known = table();
    BackwardOptions options;
    options.keep_graph = keep_graph;
    options.create_graph = create_graph;
    options.allow_unused = allow_unused;
    return to_tuple(known, autograd::grad(tensors_of(known, roots), tensors_of(known, inputs),
                                          tensors_of(known, gradients), options));
  });
}

py::object queue_callback(const py::object& function) {
  return guarded_call([&] {
    auto held = std::make_shared<Held>(table(), function.ptr());
    at_end_of_run([held] {
      const HoldPython python(held->table());
      py::reinterpret_steal<py::object>(require_object(
          held->table(), python::in_python([&] { return PyObject_CallNoArgs(held->get()); })));
    });
    return Py_NewRef(Py_None);
  });
}

// The Python frames of this thread, if it holds the GIL.
std::string python_call_site() {
  if (PyGILState_Check() == 0) return {};
  try {
    const py::object lines = py::module_::import("traceback").attr("format_stack")();
    return py::str("").attr("join")(lines).cast<std::string>();
  } catch (py::error_already_set&) {
    return {};
  }
}

// The sets and mode that were before.
py::tuple enter_inference(bool on) {
  const LocalKeys keys = local_keys();
  py::tuple former =
      py::make_tuple(int(gradient_mode()), keys.include.raw(), keys.exclude.raw());  // may raise
  if (on) {
    set_gradient_mode(GradientMode::Inference);
    set_local_keys({keys.include - DispatchKeySet(DispatchKey::ADInplaceOrView),
                    keys.exclude | kAutogradKeys});
  } else {
    set_gradient_mode(GradientMode::Gradients);
    set_local_keys({keys.include | DispatchKeySet(DispatchKey::ADInplaceOrView),
                    keys.exclude - kAutogradKeys});
  }
  return former;
}

// Nothing is taped from now on; gives the mode that was. A forward may apply its own function
// again without end: entering Python looks for the end of the C stack.
py::object begin_forward() {
  return guarded_call([] {
    const HoldPython python(table());
    const GradientMode former = gradient_mode();
    PyObject* const given = PyLong_FromLong(long(former));
    if (given != nullptr) set_gradient_mode(GradientMode(int(former) | 1));
    return given;
  });
}

// What the ends of with blocks call: pybind11 would need memory for the call, and without it the
// thread would stay as it is.
PyObject* put_gradient_mode(PyObject*, PyObject* given) {
  const long mode = PyLong_AsLong(given);
  if (mode == -1 && PyErr_Occurred() != nullptr) return nullptr;
  set_gradient_mode(GradientMode(mode));
  Py_RETURN_NONE;
}
PyObject* leave_inference(PyObject*, PyObject* args) {
  int mode = 0;
  unsigned long long include = 0;
  unsigned long long exclude = 0;
  if (PyArg_ParseTuple(args, "iKK", &mode, &include, &exclude) == 0) return nullptr;
  set_local_keys(
      {DispatchKeySet(DispatchKeySet::RAW, include), DispatchKeySet(DispatchKeySet::RAW, exclude)});
  set_gradient_mode(GradientMode(mode));
  Py_RETURN_NONE;
}
PyMethodDef mode_functions[] = {
    {"set_gradient_mode", put_gradient_mode, METH_O, "set_gradient_mode(mode)"},
    {"leave_inference", leave_inference, METH_VARARGS, "leave_inference(mode, include, exclude)"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_runs(py::module_& module) {
  module.def("backward", &run_backward);
  module.def("grad_of", &run_grad);
  module.def("run_number", [] { return run_number(); });
  module.def("run_has_inputs", [] { return run_has_inputs(); });
  module.def("run_depth", [] { return run_depth(); });
  module.def("queue_callback", &queue_callback, py::arg("function"));
  if (PyModule_AddFunctions(module.ptr(), mode_functions) < 0) throw py::error_already_set();
  module.def("arm", [] { arm(); });
  module.def("gradient_mode", [] { return int(gradient_mode()); });
  // As keys of compiled calls end with it; see gradients/call_keys.cpp.
  module.def("derivatives_changed", [] {
    const std::uint64_t changes = inspect::derivatives_changed();
    return py::bytes(reinterpret_cast<const char*>(&changes), sizeof(changes));
  });
  module.def("begin_forward", &begin_forward);
  module.def("enter_inference", &enter_inference);
  module.def("anomaly", [] {
    const Anomaly mode = anomaly();
    return py::make_tuple(mode.on, mode.check_nan);
  });
  module.def("set_anomaly", [](bool on, bool check_nan) {
    set_anomaly_call_site(&python_call_site);
    set_anomaly({on, check_nan});
  });
}

}  // namespace opyard::gradients
