// gradients/functions.cpp: functions as Python sees them, and functions that are Python's.
#include "gradients/gradients.h"

#include "opyard/base/weak.h"
#include "opyard/detail/autograd/write.h"
#include "opyard/detail/bind/classes.h"
#include "opyard/detail/python/clear.h"
#include "opyard/inspect/inspect.h"
#include "opyard/registry/registry.h"

namespace opyard::gradients {
namespace {

using namespace autograd;  // NOLINT: this file is about it

// Calls a function of Python with the gradients; it gives one for each edge, None for none.
class PythonFunction final : public Function {
 public:
  PythonFunction(const PythonTable& known, std::string name, PyObject* backward)
      : name_(std::move(name)), backward_(known, backward) {}

  Gradients apply(Gradients gradients) override {
    const PythonTable& known = backward_.table();
    const HoldPython python(known);
    const py::object given = py::reinterpret_steal<py::object>(to_tuple(known, gradients));
    // The function is handed over for the call alone: what Python keeps of it would be a cycle.
    const py::object self = object_of(FunctionPtr::share(this));
    const py::object result = py::reinterpret_steal<py::object>(require_object(
        known, python::in_python([&] {
          return PyObject_CallFunctionObjArgs(backward_.get(), self.ptr(), given.ptr(), nullptr);
        })));
    if (!PyTuple_Check(result.ptr())) return {one(known, result.ptr(), 0)};
    Gradients all;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result.ptr()); ++i) {
      all.push_back(one(known, PyTuple_GET_ITEM(result.ptr(), i), std::size_t(i)));
    }
    return all;
  }
  std::string name() const override { return name_; }
  HeldObject* held_object() noexcept override { return &backward_; }
  // In the interpreter that it is of; else null.
  PyObject* backward(const PythonTable& known) const noexcept {
    return backward_.interpreter() == known.interpreter ? static_cast<PyObject*>(backward_.object())
                                                        : nullptr;
  }
  // What was saved is freed by the context, which belongs to the function in Python. No code of
  // Python runs here: an interrupt would come out of it, and nothing can be raised.
  void release_saved() noexcept override {
    if (backward_.object() == nullptr) return;
    try {
      const PythonTable& known = backward_.table();
      const HoldPython python(known);
      const py::object context =
          py::reinterpret_steal<py::object>(PyObject_GetAttrString(backward_.get(), "_ctx"));
      if (!context) {
        python::clear_or_report(PyExc_AttributeError, backward_.get());
        return;
      }
      if (PyObject_SetAttrString(context.ptr(), "_saved", Py_None) != 0) {
        PyErr_WriteUnraisable(backward_.get());
      }
    } catch (const Error&) {
      // The interpreter has ended, and what was saved with it.
    }
  }

 private:
  Tensor one(const PythonTable& known, PyObject* object, std::size_t index) const {
    if (object == Py_None) return {};
    if (const Tensor* const tensor = known.unwrap_tensor(&known, object)) return *tensor;
    if (!python::clear_if(PyExc_TypeError)) throw_python_exception(known);
    fail(ErrorKind::BadArgument, "expected Variable or None (got " +
                                     std::string(Py_TYPE(object)->tp_name) + ") from " + name_ +
                                     " as gradient " + std::to_string(index));
  }

  const std::string name_;
  Held backward_;
};

// What register_autograd() gives: asked after a call, in Python, for what takes its gradients back.
class PythonDerivative final : public CustomDerivative {
 public:
  PythonDerivative(const PythonTable& known, PyObject* prepare) : prepare_(known, prepare) {}

  FunctionPtr make(const Operator& op, std::span<const Value> arguments,
                   std::span<const Value> results, const std::vector<bool>& needs) override {
    const PythonTable& known = prepare_.table();
    const HoldPython python(known);
    const Schema& schema = op.schema();
    py::tuple given(arguments.size()), got(results.size()), wanted(needs.size());
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      given[i] = py::reinterpret_steal<py::object>(
          to_object(known, *schema.arguments[i].type, arguments[i]));
      wanted[i] = py::bool_(bool(needs[i]));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      got[i] =
          py::reinterpret_steal<py::object>(to_object(known, *schema.results[i].type, results[i]));
    }
    const py::object backward = py::reinterpret_steal<py::object>(
        require_object(known, python::in_python([&] {
                         return PyObject_CallFunctionObjArgs(prepare_.get(), given.ptr(), got.ptr(),
                                                             wanted.ptr(), nullptr);
                       })));
    if (backward.is_none()) return {};
    return make_counted<PythonFunction>(known, backward_name(op), backward.ptr());
  }

 private:
  const Held prepare_;
};

class RegisteredDerivative {
 public:
  explicit RegisteredDerivative(Registration registration)
      : registration_(std::move(registration)) {}
  void undo() noexcept { registration_.undo(); }

 private:
  Registration registration_;
};

py::object differentiate(const py::object& op, const py::object& prepare,
                         const std::string& place) {
  std::unique_ptr<RegisteredDerivative> registered;
  guarded_call([&] {
    const PythonTable& known = table();
    const Operator* const found = known.unwrap_operator(&known, op.ptr());
    if (found == nullptr) throw_python_exception(known);
    CountedPtr<Counted> function = make_counted<PythonDerivative>(known, prepare.ptr());
    registered = std::make_unique<RegisteredDerivative>(Registry::instance().differentiate(
        found->name(),
        make_counted<Derivative>(std::vector<Formula>{}, place, std::move(function))));
    return Py_NewRef(Py_None);
  });
  return py::cast(std::move(registered));
}

py::object check(const py::object& op) {
  return guarded_call([&] {
    const PythonTable& known = table();
    const Operator* const found = known.unwrap_operator(&known, op.ptr());
    if (found == nullptr) throw_python_exception(known);
    check_formulas(*found);
    return Py_NewRef(Py_None);
  });
}

// The formulas of an operator as a list of pairs; None if it has none, and "Python" for a function
// there.
py::object formulas(const py::object& op) {
  CountedPtr<const Derivative> derivative;
  guarded_call([&] {
    const PythonTable& known = table();
    const Operator* const found = known.unwrap_operator(&known, op.ptr());
    if (found == nullptr) throw_python_exception(known);
    derivative = autograd::find_derivative(*found);
    return Py_NewRef(Py_None);
  });
  if (!derivative) return py::none();
  if (derivative->function) return py::str("Python");
  py::list all;
  for (const Formula& formula : derivative->formulas) {
    all.append(py::make_tuple(formula.of, formula.text));
  }
  return all;
}

// A function whose backward is Python's, with an edge for each tensor (or None).
py::object make_python_function(const std::string& name, const py::list& inputs,
                                const py::object& backward) {
  FunctionPtr function;
  guarded_call([&] {
    const PythonTable& known = table();
    function = make_counted<PythonFunction>(known, name, backward.ptr());
    for (const py::handle input : inputs) {
      const Tensor tensor = optional_tensor(known, input.ptr());
      function->add_edge(tensor.defined() ? edge_of(tensor) : Edge());
    }
    return Py_NewRef(Py_None);
  });
  return object_of(function);
}

// `inputs` are what the function has edges to: a result may be on the memory of one of them.
py::object give_history(const py::object& tensor, const SharedFunction& function,
                        const py::list& inputs) {
  return guarded_call([&] {
    const Tensor& result = tensor_of(tensor);
    Edge history{function.function, function.function->add_input(Expected(result))};
    bool is_view = false;
    for (const py::handle input : inputs) {
      is_view |= tensor_of(input).impl()->storage() == result.impl()->storage();
    }
    if (is_view) {
      set_history_of_given_view(result, std::move(history));
    } else {
      set_history(result, std::move(history));
    }
    return Py_NewRef(Py_None);
  });
}
// Before forward's inputs are asked for their histories: one of them was written in place.
py::object begin_write_of(const py::object& tensor, const std::string& who) {
  return guarded_call([&] {
    const Tensor& written = tensor_of(tensor);
    if (const char* const why = write_refusal(written, true)) {
      fail(ErrorKind::BadValue, who + ": " + why);
    }
    begin_write(written);
    return Py_NewRef(Py_None);
  });
}
py::object give_written(const py::object& tensor, const SharedFunction& function) {
  return guarded_call([&] {
    const Tensor& written = tensor_of(tensor);
    tape_write(written, function.function, function.function->add_input(Expected(written)));
    return Py_NewRef(Py_None);
  });
}
// A write that a Function declared, by whatever means it was made.
py::object count_write(const py::object& tensor) {
  return guarded_call([&] {
    tensor_of(tensor).impl()->storage()->bump_version();
    return Py_NewRef(Py_None);
  });
}
py::object add_input_without_tensor(const SharedFunction& function) {
  return guarded_call([&] {
    function.function->add_input();
    return Py_NewRef(Py_None);
  });
}

py::object next_functions(const SharedFunction& self) {
  py::tuple all(self.function->edge_count());
  for (std::size_t i = 0; i < self.function->edge_count(); ++i) {
    const Edge& edge = self.function->edge(i);
    all[i] = py::make_tuple(edge ? object_of(edge.function) : py::none(), edge.input);
  }
  return all;
}

py::object call_function(const SharedFunction& self, const py::args& args) {
  return guarded_call([&] {
    const PythonTable& known = table();
    Gradients gradients;
    for (const py::handle each : args) gradients.push_back(optional_tensor(known, each.ptr()));
    if (const std::size_t wanted = self.function->input_count(); gradients.size() != wanted) {
      fail(ErrorKind::BadArgument, self.function->name() + ": expected " + std::to_string(wanted) +
                                       " arguments, got " + std::to_string(gradients.size()) +
                                       " instead; it takes a gradient, or None, for each result");
    }
    const Gradients results = self.function->apply(std::move(gradients));
    return results.size() == 1 ? to_object_or_none(known, results[0]) : to_tuple(known, results);
  });
}

// What a hook returned takes the place of the gradients that it saw; None leaves them as they are.
void take_replacements(const PythonTable& own, const py::object& result, const char* who,
                       Gradients& gradients) {
  if (result.is_none()) return;
  const py::tuple items = PyTuple_Check(result.ptr()) ? py::reinterpret_borrow<py::tuple>(result)
                                                      : py::make_tuple(result);
  if (items.size() != gradients.size()) {
    fail(ErrorKind::BadReturn, std::string(who) + " gave " + std::to_string(items.size()) +
                                   " gradients in place of " + std::to_string(gradients.size()));
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    gradients[i] = optional_tensor(own, items[i].ptr());
  }
}

// What the engine calls of a function that is Python's; None for others.
py::object backward_of(const SharedFunction& self) {
  const auto* const known = dynamic_cast<const PythonFunction*>(self.function.get());
  PyObject* const backward = known == nullptr ? nullptr : known->backward(table());
  return backward == nullptr ? py::none() : py::reinterpret_borrow<py::object>(backward);
}

// A dict for whatever a user notes at a function, which keeps it.
py::object metadata_of(const SharedFunction& self) {
  Hooks& hooks = self.function->hooks();
  const void* const interpreter = table().interpreter;
  if (const Hooks::Held kept = hooks.find_kept(interpreter)) {
    return py::reinterpret_borrow<py::object>(static_cast<PyObject*>(kept->object()));
  }
  py::dict fresh;
  const auto kept = hooks.keep(std::make_shared<Held>(table(), fresh.ptr()));
  return py::reinterpret_borrow<py::object>(static_cast<PyObject*>(kept->object()));
}

// Functions of Python that see gradients of a function.
std::uint64_t add_prehook(const SharedFunction& self, const py::object& hook) {
  auto held = std::make_shared<Held>(table(), hook.ptr());
  return self.function->hooks().add(
      Hooks::Before([held](Function&, Gradients& gradients) {
        const PythonTable& own = held->table();
        const HoldPython python(own);
        const py::object given = py::reinterpret_steal<py::object>(to_tuple(own, gradients));
        const py::object result = py::reinterpret_steal<py::object>(require_object(
            own, python::in_python([&] { return PyObject_CallOneArg(held->get(), given.ptr()); })));
        if (result.ptr() == Py_False) return false;
        take_replacements(own, result, "a prehook", gradients);
        return true;
      }),
      held);
}
std::uint64_t add_posthook(const SharedFunction& self, const py::object& hook, bool first) {
  auto held = std::make_shared<Held>(table(), hook.ptr());
  Hooks::After after = [held](Function&, Gradients& gradients, const Gradients& given) {
    const PythonTable& own = held->table();
    const HoldPython python(own);
    const py::object results = py::reinterpret_steal<py::object>(to_tuple(own, gradients));
    const py::object inputs = py::reinterpret_steal<py::object>(to_tuple(own, given));
    const py::object result = py::reinterpret_steal<py::object>(require_object(
        own, python::in_python([&] {
          return PyObject_CallFunctionObjArgs(held->get(), results.ptr(), inputs.ptr(), nullptr);
        })));
    take_replacements(own, result, "a hook", gradients);
  };
  Hooks& hooks = self.function->hooks();
  return first ? hooks.add_first(std::move(after), held) : hooks.add(std::move(after), held);
}

// A function as what removes a hook knows it.
struct FunctionOfHook {
  WeakPtr<Function> function;
};
bool remove_hook(const FunctionOfHook& self, std::uint64_t number) {
  const FunctionPtr function = self.function.lock();
  Hooks* const hooks = function ? function->find_hooks() : nullptr;
  return hooks != nullptr && hooks->remove(number);
}

// Of the run that this thread is inside of. A function that has died is in none.
bool is_in_this_run(const FunctionOfHook& self) {
  bool is_in = false;
  guarded_call([&] {
    const FunctionPtr function = self.function.lock();
    is_in = function && is_in_run(*function);
    return Py_NewRef(Py_None);
  });
  return is_in;
}

}  // namespace

void add_functions(py::module_& module) {
  py::class_<FunctionOfHook>(module, "FunctionOfHook")
      .def("remove", &remove_hook)
      .def("is_in_run", &is_in_this_run);
  py::class_<SharedFunction>(module, "Function", py::custom_type_setup(&set_function_slots),
                             "A function of a graph of gradients.")
      .def("name", [](const SharedFunction& self) { return self.function->name(); })
      .def_property_readonly("next_functions", &next_functions)
      .def_property_readonly("sequence_nr",
                             [](const SharedFunction& self) { return self.function->sequence(); })
      .def_property_readonly(
          "num_inputs", [](const SharedFunction& self) { return self.function->input_count(); })
      .def_property_readonly("call_site",
                             [](const SharedFunction& self) { return self.function->call_site(); })
      .def_property_readonly("backward", &backward_of)
      .def_property_readonly("metadata", &metadata_of)
      .def_property(
          "node",
          [](const SharedFunction& self) -> py::object {
            return self.node ? self.node : py::none();
          },
          [](SharedFunction& self, py::object node) { self.node = std::move(node); })
      .def("__call__", &call_function)
      .def("_register_prehook", &add_prehook)
      .def("_register_hook", &add_posthook, py::arg("hook"), py::arg("first") = false)
      .def("_for_hook",
           [](const SharedFunction& self) {
             return FunctionOfHook{WeakPtr<Function>(self.function)};
           })
      .def("__repr__",
           [](const SharedFunction& self) {
             return "<" + self.function->name() + " object of opyard.autograd>";
           })
      .def(
          "__eq__",
          [](const SharedFunction& self, const SharedFunction& other) { return &self == &other; },
          py::is_operator())
      .def("__hash__", [](const SharedFunction& self) {
        return std::hash<const void*>()(self.function.get());
      });
  py::class_<RegisteredDerivative>(module, "RegisteredDerivative")
      // As the parts of a Library have them.
      .def("reset", &RegisteredDerivative::undo)
      .def("begin_reload", [](RegisteredDerivative&) {})
      .def("end_reload", [](RegisteredDerivative&) {});
  for (const char* name : {"Function", "FunctionOfHook", "RegisteredDerivative"}) {
    python::refuse_new(module.attr(name), "taping a call makes them");
    python::refuse_pickling(module.attr(name));
  }
  module.def("make_function", &make_python_function);
  module.def("set_history", &give_history);
  module.def("begin_write", &begin_write_of);
  module.def("tape_write", &give_written);
  module.def("count_write", &count_write);
  module.def("skip_output", &add_input_without_tensor);
  module.def("differentiate", &differentiate);
  module.def("check_formulas", &check, py::arg("op"));
  module.def("check_formulas_at_registration", &check_formulas_at_registration,
             py::arg("checks") = true);
  module.def("formulas", &formulas, py::arg("op"));
}

}  // namespace opyard::gradients
