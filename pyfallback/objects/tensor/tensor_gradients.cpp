// objects/tensor/tensor_gradients.cpp: gradient attributes and methods of Tensor.
//
// The library of gradients is loaded when it is first needed. Before, no tensor requires one, and
// that is answered here. Then the library is asked for what it keeps, by gradient_functions.h, and
// the package for everything else, by the name of the attribute.
#include "objects/tensor/tensor_parts.h"
#include "objects/tensor/traced_read.h"
#include "opyard/detail/registry/gradient_slot.h"
#include "opyard/detail/tensor/gradient_functions.h"
#include "opyard/keys/local.h"
#include "runtime/hooks.h"
#include "runtime/require_stack.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

bool is_armed() noexcept { return detail::tape_armed.load(std::memory_order_acquire); }
// There before it is armed.
const detail::GradientFunctions* gradient_functions() noexcept {
  return detail::gradient_functions.load(std::memory_order_acquire);
}

PyObject* ask_gradient(PyObject* self, const char* name) {
  return enter_from_python([&] {
    const Owned text = to_text(name);
    const Owned hook = Owned::share(require_hook(runtime_of_tensor(self), hook::get_gradient));
    return PyObject_CallFunctionObjArgs(hook.get(), self, text.get(), nullptr);
  });
}

// Other tensors of the same kind may have another answer.
PyObject* ask_noted(PyObject* self, const char* name) {
  const int noted = enter_from_python(-1, [&] {
    note_read(self, name);
    return 0;
  });
  return noted != 0 ? nullptr : ask_gradient(self, name);
}

int tell_gradient(PyObject* self, const char* name, PyObject* value) {
  const Owned result = Owned::steal(enter_from_python([&] {
    const Owned text = to_text(name);
    const Owned hook = Owned::share(require_hook(runtime_of_tensor(self), hook::set_gradient));
    return PyObject_CallFunctionObjArgs(hook.get(), self, text.get(),
                                        value == nullptr ? Py_None : value, nullptr);
  }));
  return result ? 0 : -1;
}

const char* closure_name(void* closure) noexcept { return static_cast<const char*>(closure); }

// The name of the method comes first, then what it was called with.
PyObject* call_gradient_method(PyObject* self, const char* name, PyObject* args, PyObject* kwargs) {
  return enter_from_python([&] {
    const Owned text = to_text(name);
    const Owned hook = Owned::share(require_hook(runtime_of_tensor(self), hook::call_gradient));
    const Owned first = checked(PyTuple_Pack(2, text.get(), self));
    const Owned all = checked(PySequence_Concat(first.get(), args));
    return PyObject_Call(hook.get(), all.get(), kwargs);
  });
}

}  // namespace

// [Levels] A function of Python that leads back to itself may come through nothing else that looks
// for the end of the stack.
PyObject* get_requires_grad(PyObject* self, void*) {
  if (!is_armed()) return Py_NewRef(Py_False);
  return enter_from_python([&] {
    require_stack();
    return PyBool_FromLong(gradient_functions()->needs(tensor_unchecked(self)) ? 1 : 0);
  });
}
PyObject* get_is_leaf(PyObject* self, void*) {
  if (!is_armed()) return Py_NewRef(Py_True);
  return enter_from_python([&] {
    require_stack();
    note_read(self, "is_leaf");
    return PyBool_FromLong(gradient_functions()->is_leaf(tensor_unchecked(self)) ? 1 : 0);
  });
}
PyObject* get_grad(PyObject* self, void*) {
  if (!is_armed()) return Py_NewRef(Py_None);
  return enter_from_python([&] {
    require_stack();
    note_read(self, "grad");
    return wrap_reference(runtime_of_tensor(self),
                          gradient_functions()->gradient(tensor_unchecked(self)));
  });
}
// Without value it is deleted, which is as None.
int set_grad(PyObject* self, PyObject* value, void*) {
  const bool is_none = value == nullptr || value == Py_None;
  if (!is_armed() || (!is_none && !is_tensor(runtime_of_tensor(self), value))) {
    return tell_gradient(self, "grad", value);
  }
  return enter_from_python(-1, [&] {
    require_stack();
    gradient_functions()->set_gradient(tensor_unchecked(self),
                                       is_none ? Tensor() : tensor_unchecked(value));
    return 0;
  });
}

// What has a tangent has the key of a layer above Autograd, of which there are two; kernels and
// forwards of functions run below it.
void require_no_tangent(PyObject* self, const char* what) {
  constexpr DispatchKeySet layers{DispatchKey::AboveAutograd1, DispatchKey::AboveAutograd2};
  const Tensor& tensor = tensor_unchecked(self);
  const DispatchKeySet keys = tensor.impl()->keys() & layers;
  if (__builtin_expect((keys.raw() & ~detail::excluded_keys()) == 0, 1) || !is_armed()) return;
  if (checked(ask_gradient(self, "tangent_of")).get() == Py_None) return;
  fail(ErrorKind::BadValue,
       std::string(what) + ": " + describe(tensor) +
           " has a tangent, which its memory has not, so what is computed there would be taken as "
           "constant; give forward_ad.unpack_dual(x).primal, whose memory it is, too");
}

PyObject* get_gradient(PyObject* self, void* closure) {
  if (!is_armed()) return Py_NewRef(Py_None);
  return ask_noted(self, closure_name(closure));
}
int set_gradient(PyObject* self, PyObject* value, void* closure) {
  return tell_gradient(self, closure_name(closure), value);
}
PyObject* get_output_nr(PyObject* self, void*) {
  if (!is_armed()) return PyLong_FromLong(0);
  return ask_noted(self, "output_nr");
}
PyObject* get_version(PyObject* self, void*) {
  return enter_from_python([&] {
    note_read(self, "_version");
    const TensorImpl& impl = *tensor_unchecked(self).impl();
    if (impl.has_mark(TensorImpl::kInference)) {
      PyErr_SetString(PyExc_RuntimeError,
                      "an inference tensor does not count its writes, so it has no _version; it "
                      "was made under inference_mode: clone() it outside of that");
      throw PythonErrorSet();
    }
    return PyLong_FromUnsignedLong(impl.storage()->shared_version());
  });
}
PyObject* is_inference_tensor(PyObject* self, PyObject*) {
  return PyBool_FromLong(tensor_unchecked(self).impl()->has_mark(TensorImpl::kInference) ? 1 : 0);
}

#define OPYARD_METHOD(name)                                                   \
  PyObject* tensor_##name(PyObject* self, PyObject* args, PyObject* kwargs) { \
    return call_gradient_method(self, #name, args, kwargs);                   \
  }
OPYARD_METHOD(requires_grad_)
OPYARD_METHOD(backward)
OPYARD_METHOD(retain_grad)
OPYARD_METHOD(register_hook)
OPYARD_METHOD(register_post_accumulate_grad_hook)
#undef OPYARD_METHOD

}  // namespace opyard::python
