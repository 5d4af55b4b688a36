// gradients/forward.cpp: levels of forward mode, and tangents of tensors.
#include "gradients/gradients.h"

#include "opyard/autograd/forward.h"

namespace opyard::gradients {
namespace {

using namespace autograd;  // NOLINT: this file is about it

py::object enter() {
  return guarded_call([] { return PyLong_FromUnsignedLongLong(enter_forward_level()); });
}
py::object exit_level(std::uint64_t level) {
  return guarded_call([&] {
    exit_forward_level(level);
    return Py_NewRef(Py_None);
  });
}
py::object dual_of(const py::object& primal, const py::object& tangent) {
  return guarded_call([&] {
    const PythonTable& known = table();
    return to_object(known, make_dual(require_tensor(known, primal.ptr()),
                                      require_tensor(known, tangent.ptr())));
  });
}
py::object get_primal(const py::object& tensor) {
  return guarded_call([&] { return to_object(table(), primal_of(tensor_of(tensor))); });
}
py::object get_tangent(const py::object& tensor) {
  return guarded_call([&] { return to_object_or_none(table(), tangent_of(tensor_of(tensor))); });
}
py::object give_tangent(const py::object& tensor, const py::object& tangent) {
  return guarded_call([&] {
    const PythonTable& known = table();
    give_tangent_of(require_tensor(known, tensor.ptr()), require_tensor(known, tangent.ptr()));
    return Py_NewRef(Py_None);
  });
}
py::object describe_rules(const py::object& op) {
  return guarded_call([&] {
    const PythonTable& known = table();
    const Operator* const found = known.unwrap_operator(&known, op.ptr());
    if (found == nullptr) throw_python_exception(known);
    const std::string text = describe_forward_rules(*found);
    return PyUnicode_FromStringAndSize(text.data(), Py_ssize_t(text.size()));
  });
}
// What a forward of a Function may do with tensors that have tangents: nothing comes of them. Gives
// the keys that are left out from now on, for end_primal().
std::uint64_t begin_primal() {
  const LocalKeys keys = local_keys();
  const DispatchKeySet added = forward_keys() - keys.exclude;
  set_local_keys({keys.include, keys.exclude | added});
  return added.raw();
}
void end_primal(std::uint64_t added) {
  const LocalKeys keys = local_keys();
  set_local_keys({keys.include, keys.exclude - DispatchKeySet(DispatchKeySet::RAW, added)});
}

}  // namespace

void add_forward(py::module_& module) {
  module.def("enter_forward_level", &enter);
  module.def("exit_forward_level", &exit_level, py::arg("level"));
  module.def("forward_level", [] { return forward_level(); });
  module.def("make_dual", &dual_of, py::arg("primal"), py::arg("tangent"));
  module.def("primal_of", &get_primal, py::arg("tensor"));
  module.def("tangent_of", &get_tangent, py::arg("tensor"));
  module.def("give_tangent", &give_tangent, py::arg("tensor"), py::arg("tangent"));
  module.def("forward_rules", &describe_rules, py::arg("op"));
  // Whether tensors with tangents are seen as such in this place.
  module.def("has_forward_calls", [] { return !(forward_keys() - local_keys().exclude).empty(); });
  module.def("begin_primal", &begin_primal);
  module.def("end_primal", &end_primal, py::arg("added"));
}

}  // namespace opyard::gradients
