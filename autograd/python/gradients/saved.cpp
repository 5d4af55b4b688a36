// gradients/saved.cpp: saved tensors in Python: hooks that pack them, and values by their names.
#include "gradients/gradients.h"

#include "opyard/autograd/saved_fields.h"
#include "opyard/detail/bind/classes.h"
#include "opyard/detail/python/clear.h"

namespace opyard::gradients {
namespace {

using namespace autograd;  // NOLINT: this file is about it

// What a pack hook gave, with the function that unpacks it: one tuple, which a collector is shown.
class PythonPacked final : public Packed {
 public:
  PythonPacked(const PythonTable& known, PyObject* unpack_and_packed)
      : pair_(known, unpack_and_packed) {}

  Tensor unpack() override {
    const PythonTable& known = pair_.table();
    const HoldPython python(known);
    const py::object pair = py::reinterpret_borrow<py::object>(pair_.get());
    const py::object result = py::reinterpret_steal<py::object>(
        require_object(known, python::in_python([&] {
                         return PyObject_CallOneArg(PyTuple_GET_ITEM(pair.ptr(), 0),
                                                    PyTuple_GET_ITEM(pair.ptr(), 1));
                       })));
    if (const Tensor* const tensor = known.unwrap_tensor(&known, result.ptr())) return *tensor;
    if (!python::clear_if(PyExc_TypeError)) throw_python_exception(known);
    fail(ErrorKind::BadArgument,
         std::string("Output of saved tensor unpack_hook expected to be a Tensor but got result "
                     "of type ") +
             Py_TYPE(result.ptr())->tp_name);
  }
  HeldObject* held_object() noexcept override { return &pair_; }

 private:
  Held pair_;
};

class PythonSavedHooks final : public SavedHooks {
 public:
  PythonSavedHooks(const PythonTable& known, PyObject* pack, PyObject* unpack)
      : pack_(known, pack), unpack_(known, unpack) {}

  CountedPtr<Packed> pack(const Tensor& tensor) override {
    const PythonTable& known = pack_.table();
    const HoldPython python(known);
    const py::object given = py::reinterpret_steal<py::object>(to_object(known, tensor));
    const py::object packed = py::reinterpret_steal<py::object>(require_object(
        known, python::in_python([&] { return PyObject_CallOneArg(pack_.get(), given.ptr()); })));
    const py::object pair = py::reinterpret_steal<py::object>(
        require_object(known, PyTuple_Pack(2, unpack_.get(), packed.ptr())));
    return make_counted<PythonPacked>(known, pair.ptr());
  }
  // A wrapper with attributes is one that the collector looks at.
  void gave(const Tensor& result) override {
    const PythonTable& known = pack_.table();
    const HoldPython python(known);
    const py::object wrapper = py::reinterpret_steal<py::object>(to_object(known, result));
    py::reinterpret_steal<py::object>(
        require_object(known, PyObject_GetAttrString(wrapper.ptr(), "__dict__")));
  }

 private:
  const Held pack_, unpack_;
};

SavedHooksPtr hooks_of(const py::object& pack, const py::object& unpack) {
  return make_counted<PythonSavedHooks>(table(), pack.ptr(), unpack.ptr());
}

// The hooks of a with block.
struct SharedHooks {
  SavedHooksPtr hooks;
};

py::object push_hooks(const SharedHooks& shared) {
  return guarded_call([&] {
    push_saved_hooks(shared.hooks);
    return Py_NewRef(Py_None);
  });
}
// What the end of a with block calls, which must not need memory: see gradients/runs.cpp.
PyObject* pop_hooks(PyObject*, PyObject* object) {
  const bool is_one = py::isinstance<SharedHooks>(object);
  const auto* const shared = is_one ? python::find_held<SharedHooks>(object) : nullptr;
  return called_from_python(table(), [&] {
    OPYARD_CHECK(shared != nullptr, BadArgument, "pop_saved_hooks: SavedHooks are wanted");
    pop_saved_hooks(*shared->hooks);
    return Py_NewRef(Py_None);
  });
}
PyMethodDef hook_functions[] = {{"pop_saved_hooks", pop_hooks, METH_O, "pop_saved_hooks(hooks)"},
                                {nullptr, nullptr, 0, nullptr}};

std::optional<std::string> disable_hooks(const std::optional<std::string>& message) {
  std::optional<std::string> former;
  guarded_call([&] {
    former = disable_saved_hooks(message);
    return Py_NewRef(Py_None);
  });
  return former;
}

py::object names_of_saved(const SharedFunction& self) {
  return py::cast(saved_names(*self.function));
}
py::object value_of_saved(const SharedFunction& self, const std::string& name) {
  return guarded_call([&] {
    const Value value = saved_value(*self.function, name);
    return require_object(table(), table().from_value(&table(), nullptr, &value));
  });
}
py::object pack_value(const SharedFunction& self, const std::string& name, std::size_t position,
                      const py::object& pack, const py::object& unpack) {
  return guarded_call([&] {
    pack_saved(*self.function, name, position, *hooks_of(pack, unpack));
    return Py_NewRef(Py_None);
  });
}

std::unique_ptr<SavedTensor> save(const py::object& tensor, bool is_result, std::uint32_t input) {
  std::unique_ptr<SavedTensor> saved;
  guarded_call([&] {
    saved = std::make_unique<SavedTensor>(optional_tensor(table(), tensor.ptr()), is_result);
    saved->set_result(input);
    return Py_NewRef(Py_None);
  });
  return saved;
}
// save() as long as the thread may have hooks.
std::unique_ptr<SavedTensor> save_packed(const py::object& tensor, bool is_result,
                                         std::uint32_t input) {
  std::unique_ptr<SavedTensor> saved = save(tensor, is_result, input);
  guarded_call([&] {
    if (const SavedHooksPtr hooks = current_saved_hooks()) saved->pack(*hooks);
    return Py_NewRef(Py_None);
  });
  return saved;
}
py::object pack_one(SavedTensor& self, const py::object& pack, const py::object& unpack) {
  return guarded_call([&] {
    self.pack(*hooks_of(pack, unpack));
    return Py_NewRef(Py_None);
  });
}
void take_tangents(const SavedTensor& self, const py::list& results) {
  guarded_call([&] {
    std::vector<Tensor> tensors;
    for (const py::handle each : results) {
      tensors.push_back(optional_tensor(table(), each.ptr()));
    }
    self.take_tangent_among(tensors);
    return Py_NewRef(Py_None);
  });
}
// Without a function as seen from outside of its run: results come out without history.
py::object take_out(const SavedTensor& self, const py::object& function) {
  return guarded_call([&] {
    if (!function.is_none()) {
      const auto& known = function.cast<const SharedFunction&>();
      return to_object_or_none(table(), self.take_out(*known.function));
    }
    const GradientModeGuard off(GradientMode::NoGradients);
    const FunctionPtr dummy = make_dummy();
    return to_object_or_none(table(), self.take_out(*dummy));
  });
}

}  // namespace

void add_saved(py::module_& module) {
  py::class_<SavedTensor>(module, "SavedTensor", py::custom_type_setup(&set_saved_slots))
      .def("take_out", &take_out)
      .def("is_none", &SavedTensor::empty)
      .def("pack", &pack_one)
      .def("take_tangents", &take_tangents);
  py::class_<SharedHooks>(module, "SavedHooks");
  python::refuse_new(module.attr("SavedHooks"), "saved_hooks() makes them");
  python::refuse_pickling(module.attr("SavedHooks"));
  python::refuse_new(module.attr("SavedTensor"), "taping a call makes them");
  python::refuse_pickling(module.attr("SavedTensor"));
  module.def("save", &save, py::arg("tensor"), py::arg("is_result") = false, py::arg("input") = 0);
  module.def("save_packed", &save_packed, py::arg("tensor"), py::arg("is_result") = false,
             py::arg("input") = 0);
  module.def(
      "saved_hooks",
      [](const py::object& pack, const py::object& unpack) {
        return SharedHooks{hooks_of(pack, unpack)};
      },
      py::arg("pack"), py::arg("unpack"));
  module.def("push_saved_hooks", &push_hooks);
  module.def("disable_saved_hooks", &disable_hooks);
  module.def("saved_names", &names_of_saved);
  module.def("saved_value", &value_of_saved);
  module.def("pack_saved", &pack_value);
  if (PyModule_AddFunctions(module.ptr(), hook_functions) < 0) throw py::error_already_set();
}

}  // namespace opyard::gradients
