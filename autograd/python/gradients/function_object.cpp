// gradients/function_object.cpp: the object that shows a function of a graph in Python.
//
// There is one for each function that Python has asked for: a closure that holds it, and a hook
// that the closure is, are a cycle through C++, which the garbage collector follows only from an
// object that knows all owners of the function. See opyard/detail/autograd/kept.h.
#include "gradients/gradients.h"

#include "opyard/detail/autograd/kept.h"
#include "opyard/detail/bind/slot.h"

namespace opyard::gradients {
namespace {

// An owner of the object, for the state of a tensor that the function gave.
class ShownByState final : public autograd::HeldObject {
 public:
  ShownByState(const PythonTable& known, PyObject* object, SharedFunction& shared)
      : shared_(shared), object_(known, object) {
    shared_.states.fetch_add(1, std::memory_order_relaxed);
  }
  ShownByState(const ShownByState&) = delete;
  ShownByState& operator=(const ShownByState&) = delete;
  ~ShownByState() override { leave(); }
  const void* interpreter() const noexcept override { return object_.interpreter(); }
  void* object() const noexcept override { return object_.object(); }
  void give_up() noexcept override {
    leave();
    object_.give_up();
  }

 private:
  void leave() noexcept {
    if (object_.object() != nullptr) shared_.states.fetch_sub(1, std::memory_order_relaxed);
  }
  SharedFunction& shared_;  // lives as long as its object
  Held object_;
};

struct Visit {
  visitproc visit;
  void* argument;
};
int visit_object(void* object, void* argument) {
  const auto& to = *static_cast<const Visit*>(argument);
  return to.visit(static_cast<PyObject*>(object), to.argument);
}

int traverse_function(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const auto* const shared = python::find_held<SharedFunction>(self);
  if (shared == nullptr) return 0;
  Visit to{visit, arg};
  return autograd::visit_kept(*shared->function, shared->owners(),
                              {shared->interpreter, &visit_object, &to});
}
int clear_function(PyObject* self) {
  const auto* const shared = python::find_held<SharedFunction>(self);
  if (shared != nullptr) {
    autograd::clear_kept(*shared->function, shared->owners(), shared->interpreter);
  }
  return 0;
}

int traverse_saved(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const auto* const saved = python::find_held<autograd::SavedTensor>(self);
  if (saved == nullptr) return 0;
  Visit to{visit, arg};
  return autograd::visit_kept(*saved, {table().interpreter, &visit_object, &to});
}
int clear_saved(PyObject* self) {
  auto* const saved = python::find_held<autograd::SavedTensor>(self);
  if (saved != nullptr) const autograd::SavedTensor last = std::exchange(*saved, {});
  return 0;
}

void set_collected(PyHeapTypeObject* heap_type, traverseproc traverse, inquiry clear) {
  PyTypeObject& type = heap_type->ht_type;
  type.tp_flags |= Py_TPFLAGS_HAVE_GC;
  type.tp_traverse = traverse;
  type.tp_clear = clear;
}

}  // namespace

SharedFunction::~SharedFunction() {
  if (is_shown) autograd::set_shown(*function, interpreter, nullptr);
}

py::object object_of(const autograd::FunctionPtr& function) {
  const void* const interpreter = table().interpreter;
  if (void* const known = autograd::find_shown(*function, interpreter)) {
    return py::reinterpret_borrow<py::object>(static_cast<PyObject*>(known));
  }
  auto made = std::make_unique<SharedFunction>(function, interpreter);
  SharedFunction& shared = *made;
  py::object object = py::cast(std::move(made));
  autograd::set_shown(*function, interpreter, object.ptr());
  shared.is_shown = true;
  return object;
}

py::object object_for(const Tensor& tensor, const autograd::FunctionPtr& function) {
  py::object object = object_of(function);
  autograd::TensorState* const state = autograd::find_state(tensor);
  if (state != nullptr && state->history.function == function && state->shown == nullptr) {
    state->shown = std::make_unique<ShownByState>(table(), object.ptr(),
                                                  *python::find_held<SharedFunction>(object.ptr()));
  }
  return object;
}

void set_function_slots(PyHeapTypeObject* type) {
  set_collected(type, &traverse_function, &clear_function);
}
void set_saved_slots(PyHeapTypeObject* type) { set_collected(type, &traverse_saved, &clear_saved); }

}  // namespace opyard::gradients
