// objects/tensor/tensor_class.cpp: subclasses of Tensor, and making their instances.
//
// [Finaliser] What keeps a wrapper that must not be lost is the finaliser of its type; see
// tensor_life.cpp, [Keeping]. A class with a __del__ of its own would put Python's function there.
// So the class of Tensor and of all its subclasses sets ours again whenever a class is made or
// changed, and ours runs __del__ when the tensor really dies. No one finds a Tensor.__del__ to
// call. A mixin that is no Tensor and gets its __del__ late puts Python's function into the classes
// below it; that is mended when the next instance is made.
#include "objects/tensor/aten_methods.h"

#include <fmt/format.h>

#include "objects/tensor/call_alias.h"
#include "objects/tensor/tensor.h"
#include "objects/tensor/tensor_parts.h"
#include "opyard/detail/python/clear.h"
#include "opyard/detail/registry/gradient_slot.h"
#include "opyard/detail/tensor/gradient_functions.h"
#include "opyard/keys/gradient_mode.h"
#include "opyard/keys/local.h"
#include "runtime/gil.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

PyTypeObject* type_of(PyObject* object) { return reinterpret_cast<PyTypeObject*>(object); }

// Of a class and of all below it: Python sets the finalisers of all of them if one is changed.
void set_finalizers(PyObject* changed) {
  type_of(changed)->tp_finalize = finalize_tensor;
  const Owned below = Owned::steal(PyObject_CallMethod(changed, "__subclasses__", nullptr));
  if (!below || !PyList_Check(below.get())) {
    clear_or_report(PyExc_Exception, changed);
    return;
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(below.get()); ++i) {
    set_finalizers(PyList_GET_ITEM(below.get(), i));
  }
}

int init_class(PyObject* made, PyObject* args, PyObject* kwargs) {
  const int failed = PyType_Type.tp_init(made, args, kwargs);
  type_of(made)->tp_finalize = finalize_tensor;
  return failed;
}

int set_class_attribute(PyObject* changed, PyObject* name, PyObject* value) {
  const int failed = PyType_Type.tp_setattro(changed, name, value);
  PyObject* const former = take_exception();
  set_finalizers(changed);
  if (former != nullptr) restore_exception(former);
  return failed;
}

// Tensor.relu is ops.aten.relu, as t.relu is that bound to t; see tensor_attributes.cpp, [Lookup].
PyObject* get_class_attribute(PyObject* cls, PyObject* name) {
  PyObject* const found = PyType_Type.tp_getattro(cls, name);
  if (found != nullptr || !may_be_operator(name)) return found;
  return enter_from_python([&]() -> PyObject* {
    PyObject* const missing = take_exception();
    Owned packet;
    Runtime* const runtime = find_runtime();
    if (runtime != nullptr && PyErr_GivenExceptionMatches(missing, PyExc_AttributeError) != 0) {
      const Owned held = Owned::steal(missing);
      packet = find_aten_method(*runtime, name);
      if (packet) return packet.release();
      restore_exception(Owned::share(held.get()).release());
      return nullptr;
    }
    restore_exception(missing);
    return nullptr;
  });
}

// The traversal of `type` leaves out what the class is an instance of, and this one may end.
int traverse_tensor_class(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return PyType_Type.tp_traverse(self, visit, arg);
}

int clear_tensor_class(PyObject* self) { return PyType_Type.tp_clear(self); }

PyType_Slot meta_slots[] = {
    {Py_tp_doc, const_cast<char*>("The class of opyard.Tensor and of its subclasses.")},
    {Py_tp_base, nullptr},  // type: an address that is known at run time only
    {Py_tp_traverse, slot(traverse_tensor_class)},
    {Py_tp_clear, slot(clear_tensor_class)},
    {Py_tp_init, slot(init_class)},
    {Py_tp_getattro, slot(get_class_attribute)},
    {Py_tp_setattro, slot(set_class_attribute)},
    {0, nullptr}};

PyType_Spec meta_spec = {"opyard.TensorMeta", 0, 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, meta_slots};

}  // namespace

PyTypeObject* require_subclass(Runtime& runtime, PyObject* cls, const char* what) {
  if (PyType_Check(cls) && PyType_IsSubtype(type_of(cls), runtime.tensor_type) != 0) {
    return type_of(cls);
  }
  const std::string came = PyType_Check(cls) ? std::string("the class ") + type_of(cls)->tp_name
                                             : std::string("a ") + Py_TYPE(cls)->tp_name;
  fail(ErrorKind::BadArgument,
       std::string(what) + " takes opyard.Tensor or a subclass of it, not " + came);
}

namespace {

void require_memory(PyTypeObject* type, const Tensor& data) {
  const TensorImpl& given = *data.impl();
  if (given.keys().has(DispatchKey::Python) && given.data() == nullptr && given.own_numel() != 0) {
    fail(ErrorKind::BadArgument,
         std::string("a ") + type->tp_name + " cannot be made on the memory of " + describe(data) +
             ": it is a wrapper without memory, whose class answers operators; make one of the "
             "tensors that it wraps, or another wrapper with make_wrapper_subclass()");
  }
}

// An alias that no one has yet, as an instance.
Owned wrap_alias(Runtime& runtime, PyTypeObject* type, Tensor alias) {
  if (type == runtime.tensor_type) return wrap(runtime, std::move(alias));
  if (handles_dispatch(runtime, type)) {
    alias.impl()->set_keys(alias.keys() | DispatchKey::Python);
  }
  return wrap_as(runtime, type, std::move(alias));
}

// Whether calls with it are taped here, and lead to what it was computed from.
bool leads_back(const Tensor& data) {
  const auto* const functions = detail::gradient_functions.load(std::memory_order_acquire);
  constexpr DispatchKeySet kAutograd(DispatchKey::AutogradFunctionality);
  return data.impl()->gradient_state() && functions != nullptr && gradients_enabled() &&
         (detail::excluded_keys() & kAutograd.raw()) == 0 && functions->needs(data);
}

void refuse_lost_history(const PyTypeObject* type, const Tensor& data) {
  fail(ErrorKind::BadValue,
       fmt::format("make_subclass({0}, data): data is {1}, which requires a gradient, and the {0} "
                   "would have nothing of its history. data.as_subclass({0}) keeps it, and "
                   "data.detach() has none",
                   type->tp_name, describe(data)));
}

}  // namespace

Owned make_instance(Runtime& runtime, PyTypeObject* type, const Tensor& data) {
  require_memory(type, data);
  const GradientModeGuard off(GradientMode::NoGradients);
  return wrap_alias(runtime, type, data.alias());
}

// Tensor.make_subclass(cls, data)
PyObject* make_subclass(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return enter_from_python([&] {
    Runtime* const runtime = find_runtime();
    if (runtime == nullptr || count != 2 || !is_tensor(*runtime, args[1])) {
      fail(ErrorKind::BadArgument,
           "make_subclass() takes a subclass of Tensor and a Tensor: make_subclass(cls, data)");
    }
    PyTypeObject* const type = require_subclass(*runtime, args[0], "make_subclass()");
    const Tensor& data = tensor_unchecked(args[1]);
    if (leads_back(data)) refuse_lost_history(type, data);
    return make_instance(*runtime, type, data).release();
  });
}

// tensor.as_subclass(cls)
PyObject* as_subclass(PyObject* self, PyObject* cls) {
  return enter_from_python([&] {
    Runtime& runtime = runtime_of_tensor(self);
    PyTypeObject* const type = require_subclass(runtime, cls, "as_subclass()");
    const Tensor& data = tensor_unchecked(self);
    if (!detail::may_need_gradient(*data.impl()))
      return make_instance(runtime, type, data).release();
    require_memory(type, data);
    // Taped as any other view is; a handler is asked for what it is answered with later.
    const ExcludeDispatchKeyGuard below(DispatchKey::Python);
    const CalledFromPython called(runtime);
    return wrap_alias(runtime, type, call_alias(data)).release();
  });
}

PyObject* get_class(PyObject* self, void*) {
  return Owned::share(reinterpret_cast<PyObject*>(Py_TYPE(self))).release();
}

// Memory, keys and the collector's view of a wrapper go by its class.
int refuse_class(PyObject* self, PyObject*, void*) {
  PyErr_Format(
      PyExc_TypeError,
      "the class of a %s cannot be assigned; as_subclass(cls) gives a tensor of another class "
      "on the same memory",
      Py_TYPE(self)->tp_name);
  return -1;
}

bool handles_dispatch(Runtime& runtime, PyTypeObject* type) {
  PyObject* const handler = lookup_on_type(type, runtime.handler_name);
  return handler != nullptr && handler != runtime.disabled_dispatch;
}

void refuse_second_object(PyTypeObject* type, PyObject* first) {
  fail(ErrorKind::BadArgument,
       std::string("Creating a new Tensor subclass ") + type->tp_name +
           " but the raw Tensor object is already associated to a python object of type " +
           Py_TYPE(first)->tp_name + "; as_subclass(" + type->tp_name +
           ") gives a tensor of its own on the same memory");
}

PyObject* refuse_new(PyTypeObject* type, PyObject* args, PyObject*) {
  return enter_from_python([&]() -> PyObject* {
    Runtime* const runtime = find_runtime();
    if (runtime != nullptr && type != runtime->tensor_type) {
      if (PyTuple_GET_SIZE(args) > 0 && is_tensor(*runtime, PyTuple_GET_ITEM(args, 0))) {
        refuse_second_object(type, PyTuple_GET_ITEM(args, 0));
      }
      fail(ErrorKind::BadArgument, std::string(type->tp_name) +
                                       " has no __new__ of its own; define one that returns "
                                       "Tensor.make_subclass(cls, data)");
    }
    fail(ErrorKind::BadArgument,
         "opyard.Tensor is not called; use opyard.tensor(data) for a copy of numbers, "
         "opyard.from_numpy(array) or opyard.from_dlpack(object) to share memory");
  });
}

void make_tensor_class(Runtime& runtime, PyObject* module) {
  if (runtime.tensor_meta_type != nullptr) {  // the module was imported again
    return add_type(module, meta_spec, runtime.tensor_meta_type);
  }
  meta_slots[1].pfunc = &PyType_Type;
  add_type(module, meta_spec, runtime.tensor_meta_type);
  runtime.del_name = checked(PyUnicode_InternFromString("__del__")).release();
  prepare_type_versions(runtime);
  runtime.before_drop = return_left_wrapper;
  PyTypeObject* const tensor = runtime.tensor_type;
  Py_INCREF(runtime.tensor_meta_type);
  Py_SET_TYPE(reinterpret_cast<PyObject*>(tensor), runtime.tensor_meta_type);
  if (PyDict_DelItemString(tensor->tp_dict, "__del__") < 0) throw PythonErrorSet();
  PyType_Modified(tensor);
}

}  // namespace opyard::python
