// objects/tensor/tensor_gradients.cpp: what a Tensor says of gradients.
//
// The library of gradients is loaded when it is first needed. Before, no tensor requires one, and
// that is answered here; everything else asks the package, by the name of the attribute.
#include "objects/tensor/tensor_parts.h"
#include "objects/tensor/traced_read.h"
#include "opyard/detail/registry/recorder.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

bool is_armed() noexcept { return detail::recorder_armed.load(std::memory_order_acquire); }

PyObject* ask(PyObject* self, const char* name) {
  return enter_from_python([&] {
    const Owned text = to_text(name);
    const Owned hook = Owned::share(require_hook(runtime_of_tensor(self), "get_gradient"));
    return PyObject_CallFunctionObjArgs(hook.get(), self, text.get(), nullptr);
  });
}

// Other tensors of the same kind may have another answer.
PyObject* ask_noted(PyObject* self, const char* name) {
  const int noted = enter_from_python(-1, [&] {
    note_read(self, name);
    return 0;
  });
  return noted != 0 ? nullptr : ask(self, name);
}

int tell(PyObject* self, const char* name, PyObject* value) {
  const Owned result = Owned::steal(enter_from_python([&] {
    const Owned text = to_text(name);
    const Owned hook = Owned::share(require_hook(runtime_of_tensor(self), "set_gradient"));
    return PyObject_CallFunctionObjArgs(hook.get(), self, text.get(),
                                        value == nullptr ? Py_None : value, nullptr);
  }));
  return result ? 0 : -1;
}

const char* name_of(void* closure) noexcept { return static_cast<const char*>(closure); }

// The name of the method comes first, then what it was called with.
PyObject* call(PyObject* self, const char* name, PyObject* args, PyObject* kwargs) {
  return enter_from_python([&] {
    const Owned text = to_text(name);
    const Owned hook = Owned::share(require_hook(runtime_of_tensor(self), "call_gradient"));
    const Owned first = checked(PyTuple_Pack(2, text.get(), self));
    const Owned all = checked(PySequence_Concat(first.get(), args));
    return PyObject_Call(hook.get(), all.get(), kwargs);
  });
}

}  // namespace

PyObject* get_requires_grad(PyObject* self, void*) {
  if (!is_armed()) return Py_NewRef(Py_False);
  return ask(self, "requires_grad");
}
PyObject* get_is_leaf(PyObject* self, void*) {
  if (!is_armed()) return Py_NewRef(Py_True);
  return ask_noted(self, "is_leaf");
}
PyObject* get_gradient(PyObject* self, void* closure) {
  if (!is_armed()) return Py_NewRef(Py_None);
  return ask_noted(self, name_of(closure));
}
int set_gradient(PyObject* self, PyObject* value, void* closure) {
  return tell(self, name_of(closure), value);
}
PyObject* get_output_nr(PyObject* self, void*) {
  if (!is_armed()) return PyLong_FromLong(0);
  return ask_noted(self, "output_nr");
}
PyObject* get_version(PyObject* self, void*) {
  return enter_from_python([&] {
    note_read(self, "_version");
    return PyLong_FromUnsignedLong(tensor_unchecked(self).impl()->storage()->shared_version());
  });
}
PyObject* is_inference_tensor(PyObject* self, PyObject*) {
  return PyBool_FromLong(tensor_unchecked(self).impl()->has_mark(TensorImpl::kInference) ? 1 : 0);
}

#define OPYARD_METHOD(name)                                                   \
  PyObject* tensor_##name(PyObject* self, PyObject* args, PyObject* kwargs) { \
    return call(self, #name, args, kwargs);                                   \
  }
OPYARD_METHOD(requires_grad_)
OPYARD_METHOD(backward)
OPYARD_METHOD(retain_grad)
OPYARD_METHOD(register_hook)
OPYARD_METHOD(register_post_accumulate_grad_hook)
#undef OPYARD_METHOD

}  // namespace opyard::python
