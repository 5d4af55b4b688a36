// gradients/staged.cpp: Staged in Python: called, it runs the first stage and tapes the second.
//
// [Entering] A call is a call path: it goes by the type's own slot, and opyard._C converts, as for
// a code: graphs/runs.cpp.
#include "gradients/gradients.h"
#include "opyard/detail/graphs/shared.h"

#include "opyard/autograd/staged.h"
#include "opyard/detail/bind/classes.h"
#include "opyard/detail/bind/slot.h"

namespace opyard::gradients {
namespace {

struct SharedStaged {
  CountedPtr<const autograd::Staged> staged;
  std::shared_ptr<const std::vector<graphs::StageTypes>> stages;
};

std::unique_ptr<SharedStaged> make(const std::string& name, const graphs::SharedCode& forward,
                                   const graphs::SharedCode& both,
                                   const std::vector<std::size_t>& wrt,
                                   const std::vector<std::size_t>& outputs) {
  auto made = std::make_unique<SharedStaged>();
  guarded_call([&] {
    made->staged = make_counted<autograd::Staged>(name, forward.code, both.code, wrt, outputs);
    made->stages = forward.stages;
    return Py_NewRef(Py_None);
  });
  return made;
}

void run(void* context, std::span<const Value> inputs, std::span<Value> outputs) {
  static_cast<const autograd::Staged*>(context)->run(inputs, outputs);
}

PyObject* call_staged(PyObject* self, PyObject* args, PyObject*) {
  auto* const instance = reinterpret_cast<py::detail::instance*>(self);
  const auto* const shared = static_cast<SharedStaged*>(instance->simple_value_holder[0]);
  const CountedPtr<const autograd::Staged> staged = shared->staged;
  return python::in_slot([&](const PythonTable& known) {
    return graphs::call_run(known, shared->stages->front(), &run,
                            const_cast<autograd::Staged*>(staged.get()),
                            PySequence_Fast_ITEMS(args), std::size_t(PyTuple_GET_SIZE(args)));
  });
}

}  // namespace

void add_staged(py::module_& module) {
  py::class_<SharedStaged> staged(
      module, "Staged",
      py::custom_type_setup([](PyHeapTypeObject* type) { type->ht_type.tp_call = &call_staged; }));
  module.def("make_staged", &make, py::arg("name"), py::arg("forward"), py::arg("both"),
             py::arg("wrt"), py::arg("outputs"));
  python::refuse_new(staged, "opyard.jit.compile() makes it");
  python::refuse_pickling(staged);
}

}  // namespace opyard::gradients
