// gradients/gradients.h: declarations that the sources of opyard._gradients share.
//
// The module shows what libopyard_autograd has, and gives it functions in Python. It is not
// opyard._C, because it needs that library, which `import opyard` does not load. Of the Python
// plugin it uses the table in opyard/python.h and compiles nothing else in.
//
// Functions in Python belong to the interpreter that gave them: a run on a thread outside of Python
// enters it; one in another interpreter, or after its end, raises and names it.
//
// Depends on: opyard/python.h, opyard/autograd.h.
#pragma once

#include "opyard/detail/bind/extension.h"

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "opyard/autograd.h"
#include "opyard/python.h"

namespace opyard::gradients {

namespace py = pybind11;

using python::table;
using python::take_result;

// A reference that may be dropped on any thread.
class Held final : public autograd::HeldObject {
 public:
  Held(const PythonTable& known, PyObject* object) : table_(&known), object_(Py_NewRef(object)) {}
  Held(const Held& other) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() override {
    if (object_ != nullptr) table_->drop(table_, object_);
  }
  // Raises BadValue if the collector took it.
  PyObject* get() const {
    OPYARD_CHECK(object_ != nullptr, BadValue,
                 "the garbage collector took this function, with all that knew its tensor");
    return object_;
  }
  const PythonTable& table() const noexcept { return *table_; }

  const void* interpreter() const noexcept override { return table_->interpreter; }
  void* object() const noexcept override { return object_; }
  void give_up() noexcept override { Py_CLEAR(object_); }

 private:
  const PythonTable* const table_;
  PyObject* object_;
};

// What the object of a function in Python has: see gradients/function_object.cpp.
struct SharedFunction {
  SharedFunction(autograd::FunctionPtr of, const void* tag) noexcept
      : function(std::move(of)), interpreter(tag) {}
  SharedFunction(const SharedFunction&) = delete;
  SharedFunction& operator=(const SharedFunction&) = delete;
  ~SharedFunction();

  const autograd::FunctionPtr function;
  const void* const interpreter;
  bool is_shown = false;
  py::object node;  // a weak reference to the Node that stands for it in Python, or null
  // States of tensors that own the object, and the function.
  std::atomic<std::uint32_t> states{0};

  std::uint32_t owners() const noexcept { return 1 + states.load(std::memory_order_relaxed); }
};

// The object of a function: always the same one while it lives.
py::object object_of(const autograd::FunctionPtr& function);
// The same of the function that gave the tensor.
py::object object_for(const Tensor& tensor, const autograd::FunctionPtr& function);
// What makes the garbage collector see through objects of functions, and of saved tensors.
void set_function_slots(PyHeapTypeObject* type);
void set_saved_slots(PyHeapTypeObject* type);

// A body that may throw an Error.
template <typename Body>
py::object guarded_call(Body&& body) {
  return take_result(called_from_python(table(), std::forward<Body>(body)));
}

inline const Tensor& tensor_of(const py::handle& object) {
  return require_tensor(table(), object.ptr());
}
// None is an undefined tensor.
inline Tensor optional_tensor(const PythonTable& known, PyObject* object) {
  return object == Py_None ? Tensor() : require_tensor(known, object);
}
inline PyObject* to_object_or_none(const PythonTable& known, const Tensor& tensor) {
  return tensor.defined() ? to_object(known, tensor) : Py_NewRef(Py_None);
}
// A new tuple of Tensors and Nones.
PyObject* to_tuple(const PythonTable& known, const autograd::Gradients& gradients);

// Each adds its functions and classes to the module.
void add_tensors(py::module_& module);
void add_functions(py::module_& module);
void add_runs(py::module_& module);
void add_saved(py::module_& module);
void add_forward(py::module_& module);
void add_pullbacks(py::module_& module);
void add_staged(py::module_& module);
void add_call_keys(py::module_& module);
void add_derivative_calls(py::module_& module);

}  // namespace opyard::gradients
