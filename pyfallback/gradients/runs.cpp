// gradients/runs.cpp: backward, grad, and the modes of a thread.
#include "gradients/gradients.h"

#include "opyard/autograd/anomaly.h"

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
      py::reinterpret_steal<py::object>(
          require_object(held->table(), PyObject_CallNoArgs(held->get())));
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
void leave_inference(int mode, std::uint64_t include, std::uint64_t exclude) {
  set_local_keys(
      {DispatchKeySet(DispatchKeySet::RAW, include), DispatchKeySet(DispatchKeySet::RAW, exclude)});
  set_gradient_mode(GradientMode(mode));
}

}  // namespace

void add_runs(py::module_& module) {
  module.def("backward", &run_backward);
  module.def("grad_of", &run_grad);
  module.def("queue_callback", &queue_callback, py::arg("function"));
  module.def("arm", [] { arm(); });
  module.def("gradient_mode", [] { return int(gradient_mode()); });
  module.def("set_gradient_mode", [](int mode) { set_gradient_mode(GradientMode(mode)); });
  module.def("enter_inference", &enter_inference);
  module.def("leave_inference", &leave_inference);
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
