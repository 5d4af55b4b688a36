// graphs/tracing.cpp: jit/trace.h in Python.
//
// What the function gets and gives in nested containers is flattened in opyard/_jit/containers.py;
// here are tensors only. Each node gets the line of the innermost Python frame that is not of the
// package itself.
#include "graphs/graphs.h"

#include <frameobject.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "opyard/detail/bind/text.h"
#include "opyard/detail/python/clear.h"
#include "opyard/jit/symbol.h"
#include "opyard/jit/trace.h"

namespace opyard::graphs {
namespace {

// The package's own folders, each with a slash at its end. Made without a lock: Python runs
// meanwhile, and another thread that waited here with the GIL would wait for ever.
const std::vector<std::string>& own_folders() {
  static constinit std::atomic<const std::vector<std::string>*> known{nullptr};
  if (const auto* const folders = known.load(std::memory_order_acquire)) return *folders;
  auto made = std::make_unique<std::vector<std::string>>();
  for (const py::handle folder : py::module_::import("opyard").attr("__path__"))
    made->push_back(python::shown_file(py::reinterpret_borrow<py::object>(folder)) + '/');
  const std::vector<std::string>* first = nullptr;
  if (known.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel)) {
    return *made.release();
  }
  return *first;  // another thread was faster
}

bool is_own(const std::string& file) {
  return std::ranges::any_of(own_folders(),
                             [&](const auto& each) { return file.starts_with(each); });
}

// The innermost frame of a user, or null.
py::object user_frame() {
  auto frame = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame) {
    auto* const raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
    const auto code =
        py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(raw)));
    const auto file = python::shown_file(code.attr("co_filename"));
    if (!is_own(file)) return frame;
    frame = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetBack(raw)));
  }
  return frame;
}

// Names of files are shared by the nodes of a trace that follow each other.
class SourceRanges {
 public:
  jit::SourceRange operator()() {
    const py::object frame = user_frame();
    if (!frame) return {};
    auto* const raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
    const auto code =
        py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(raw)));
    const auto file = python::shown_file(code.attr("co_filename"));
    if (file_ == nullptr || *file_ != file) file_ = std::make_shared<const std::string>(file);
    return {file_, std::uint32_t(PyFrame_GetLineNumber(raw)), 0};
  }

 private:
  std::shared_ptr<const std::string> file_;
};

// On the thread that traces, in its interpreter; a kernel of C++ may have let go of the GIL.
template <typename Body>
auto ask_python(const PythonTable& known, Body&& body) {
  const HoldPython python(known);
  try {
    return body();
  } catch (py::error_already_set& error) {
    error.restore();
    throw_python_exception(known);
  }
}

jit::TraceOptions options_of(const PythonTable& known, bool parts) {
  jit::TraceOptions options;
  options.where = [&known, ranges = std::make_shared<SourceRanges>()] {
    return ask_python(known, *ranges);
  };
  // Null in a program that has no modules.
  const auto reader = std::make_shared<py::object>(python::ask_hook("scope_reader"));
  if (!reader->is_none()) {
    options.scope = [&known, reader] {
      return ask_python(known, [&] { return (*reader)().cast<std::string>(); });
    };
  }
  options.parts = parts;
  return options;
}

void add_inputs(jit::Trace& trace, const PythonTable& known, const py::list& tensors,
                const std::vector<std::string>& names) {
  for (std::size_t index = 0; index < tensors.size(); ++index) {
    trace.add_input(require_tensor(known, tensors[index].ptr()), names.at(index));
  }
}

SharedGraph finished(jit::Trace& trace) {
  SharedGraph graph{trace.finish()};
  graph.has_functions = holds_functions(*graph.graph);
  return graph;
}

// `function` takes nothing and gives a list of Tensors, which are the outputs.
SharedGraph trace(const py::object& function, const py::list& tensors,
                  const std::vector<std::string>& names, bool parts) {
  const PythonTable& known = table();
  jit::Trace trace(options_of(known, parts));
  add_inputs(trace, known, tensors, names);
  py::list outputs;
  {
    const jit::TraceGuard guard(trace);
    outputs = python::in_python([&] { return function(); });
  }
  for (const py::handle output : outputs) {
    trace.register_output(require_tensor(known, output.ptr()));
  }
  return finished(trace);
}

// As trace(), but what cannot be traced is no error: gives what `function` gave, the graph or
// None, and why there is none. `outputs_of` takes what the function gave, and gives a list of its
// Tensors, or a text that says why they are not what a graph gives.
py::tuple observe(const py::object& function, const py::list& tensors,
                  const std::vector<std::string>& names, bool parts, const py::object& outputs_of) {
  const PythonTable& known = table();
  jit::TraceOptions options = options_of(known, parts);
  options.observes = true;
  jit::Trace trace(std::move(options));
  add_inputs(trace, known, tensors, names);
  py::object result;
  {
    const jit::TraceGuard guard(trace);
    result = python::in_python([&] { return function(); });
  }
  const py::object outputs = python::in_python([&] { return outputs_of(result); });
  if (py::isinstance<py::str>(outputs)) trace.give_up(outputs.cast<std::string>());
  if (trace.failure().empty()) {
    try {
      for (const py::handle output : outputs) {
        trace.register_output(require_tensor(known, output.ptr()));
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Unsupported) throw;
      trace.give_up(std::string("the result: ") + error.what());
    }
  }
  const std::string why = trace.failure();
  if (!why.empty()) return py::make_tuple(result, py::none(), why);
  return py::make_tuple(result, finished(trace), py::none());
}

// Whether the trace of this thread observes; then `why` says why there is no graph, if not empty.
bool give_up(const std::string& why) {
  jit::Trace* const trace = jit::current_trace();
  if (trace == nullptr || !trace->observes()) return false;
  if (!why.empty()) trace->give_up(why);
  return true;
}

// Whether the trace of this thread computes the tensor anew at each run.
bool is_computed(const py::object& tensor) {
  jit::Trace* const trace = jit::current_trace();
  if (trace == nullptr) return false;
  const jit::Value* const value = trace->find(require_tensor(table(), tensor.ptr()));
  return value != nullptr && value->node()->kind() != jit::prim::Constant;
}

void add_made(const py::object& tensor) {
  if (jit::Trace* const trace = jit::current_trace()) {
    trace->add_made(require_tensor(table(), tensor.ptr()));
  }
}

// Tensors of a function's result: of one, or of a tuple of them.
std::vector<Tensor> tensors_of(const PythonTable& known, const std::string& name,
                               const py::object& result) {
  const py::tuple items =
      py::isinstance<py::tuple>(result) ? py::tuple(result) : py::make_tuple(result);
  std::vector<Tensor> tensors;
  for (const py::handle item : items) {
    const Tensor* const tensor = known.unwrap_tensor(&known, item.ptr());
    if (tensor == nullptr) {
      // The TypeError does not know what the object was a result of.
      if (!python::clear_if(PyExc_TypeError)) throw py::error_already_set();
      fail(ErrorKind::Unsupported, name + ": gives " + Py_TYPE(item.ptr())->tp_name +
                                       "; a function of a graph gives Tensors, or a tuple of them");
    }
    tensors.push_back(*tensor);
  }
  return tensors;
}

// Calls a function of Python, and traces the call as a prim::PythonOp. The calling string has a
// letter for each argument; `requires_grad` has an item for each Tensor among them.
py::object call_function(const py::object& function, const std::string& name,
                         const py::tuple& arguments, const std::string& calling,
                         const std::vector<std::int64_t>& requires_grad) {
  const PythonTable& known = table();
  const auto call = [&] { return python::in_python([&] { return function(*arguments); }); };
  jit::Trace* const trace = jit::trace_of_calls();
  if (trace == nullptr) return call();
  std::vector<Tensor> tensors;
  py::list scalars;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (calling.at(i) == 't') {
      tensors.push_back(require_tensor(known, py::object(arguments[i]).ptr()));
    } else {
      scalars.append(arguments[i]);
    }
  }
  py::object result;
  try {
    trace->call({.name = name,
                 .inputs = tensors,
                 .create =
                     [&](jit::Graph& graph, std::span<jit::Value* const> inputs) {
                       jit::Node* const node =
                           make_python_op(graph, function, name, inputs, calling, scalars, 0);
                       node->is_(jit::Symbol::attr("requires_grad"), requires_grad);
                       return node;
                     },
                 .run =
                     [&] {
                       result = call();
                       return tensors_of(known, name, result);
                     }});
  } catch (const Error& error) {
    if (!trace->observes() || error.kind() != ErrorKind::Unsupported) throw;
    trace->give_up(error.what());
    if (!result) result = call();
  }
  return result;
}

py::object user_frame_or_none() {
  const py::object frame = user_frame();
  return frame ? frame : py::object(py::none());
}

}  // namespace

void add_tracing(py::module_& module) {
  module.def("trace", &trace, py::arg("function"), py::arg("tensors"), py::arg("names"),
             py::arg("parts") = false);
  module.def("observe", &observe, py::arg("function"), py::arg("tensors"), py::arg("names"),
             py::arg("parts"), py::arg("outputs_of"));
  module.def("give_up", &give_up, py::arg("why"));
  module.def("is_computed", &is_computed, py::arg("tensor"));
  module.def("add_made", &add_made, py::arg("tensor"));
  module.def("user_frame", &user_frame_or_none);
  module.def("traces_calls", [] { return jit::trace_of_calls() != nullptr; });
  module.def("call_function", &call_function, py::arg("function"), py::arg("name"),
             py::arg("arguments"), py::arg("calling"), py::arg("requires_grad"));
  module.def("is_tracing", [] { return jit::current_trace() != nullptr; });
}

}  // namespace opyard::graphs
