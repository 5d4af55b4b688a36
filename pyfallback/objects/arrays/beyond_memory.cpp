// objects/arrays/beyond_memory.cpp: queries of array types: gradients, conjugation, versions.
#include "objects/arrays/beyond_memory.h"

#include <memory>
#include <string>
#include <string_view>

#include "objects/arrays/foreign_kind.h"
#include "objects/arrays/package.h"
#include "opyard/detail/python/clear.h"
#include "opyard/detail/python/exit.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

// ---- the ways to ask; see [Cost] ----

PyObject* get_by_name(PyObject* array, void* name) {
  return PyObject_GetAttr(array, static_cast<PyObject*>(name));
}

PyObject* call_by_name(PyObject* array, void* name) {
  return PyObject_CallMethodNoArgs(array, static_cast<PyObject*>(name));
}

// A method without arguments gets null in their place, as a getter gets its closure.
getter as_getter(PyCFunction method) noexcept {
  return reinterpret_cast<getter>(reinterpret_cast<void (*)()>(method));
}

// Whether a type implements the name by this descriptor of C, which is its own or a base's.
bool is_descriptor_of(PyTypeObject* type, PyObject* found, PyTypeObject* kind) noexcept {
  return Py_TYPE(found) == kind && PyType_IsSubtype(type, PyDescr_TYPE(found)) != 0;
}

Question find_attribute_question(PyTypeObject* type, PyObject* name) {
  PyObject* const found = lookup_on_type(type, name);
  if (found == nullptr) return {};
  if (is_descriptor_of(type, found, &PyGetSetDescr_Type)) {
    const PyGetSetDef& attribute = *reinterpret_cast<PyGetSetDescrObject*>(found)->d_getset;
    if (attribute.get != nullptr) return {attribute.get, attribute.closure};
  }
  return {get_by_name, name};
}

Question find_method_question(PyTypeObject* type, PyObject* name) {
  PyObject* const found = lookup_on_type(type, name);
  if (found == nullptr) return {};
  if (is_descriptor_of(type, found, &PyMethodDescr_Type)) {
    const PyMethodDef& method = *reinterpret_cast<PyMethodDescrObject*>(found)->d_method;
    if (method.ml_flags == METH_NOARGS) return {as_getter(method.ml_meth), nullptr};
  }
  return {call_by_name, name};
}

// ---- the library ----

// The class that defines a name first of all: the last one in the order of bases.
PyObject* first_class_with(PyTypeObject* type, PyObject* name) {
  PyObject* const bases = type->tp_mro;
  for (Py_ssize_t i = PyTuple_GET_SIZE(bases); i-- > 0;) {
    PyObject* const base = PyTuple_GET_ITEM(bases, i);
    const Owned members = checked(PyObject_GetAttrString(base, "__dict__"));
    if (Owned::steal(PyObject_GetItem(members.get(), name))) return base;
    if (!clear_if(PyExc_KeyError)) throw PythonErrorSet();
  }
  return nullptr;
}

// The function at the end of a path of names, or null.
Owned find_function(const Owned& package, std::initializer_list<const char*> path) {
  Owned at = Owned::share(package.get());
  for (const char* const name : path) {
    if (at) at = find_attribute(at.get(), name);
  }
  return at && PyCallable_Check(at.get()) != 0 ? std::move(at) : Owned();
}

// One for each package; one without a package serves all classes that have none.
const GradientLibrary& gradient_library_of(ForeignState& state, PyObject* owner) {
  Owned package = find_package(owner);
  for (GradientLibrary* one = state.gradient_libraries; one != nullptr; one = one->older) {
    if (one->package.get() == package.get()) return *one;
  }
  auto made = std::make_unique<GradientLibrary>();
  if (package) {
    made->is_grad_enabled = find_function(package, {"is_grad_enabled"});
    made->increment_version = find_function(package, {"autograd", "graph", "increment_version"});
  }
  made->package = std::move(package);
  made->older = state.gradient_libraries;
  return *(state.gradient_libraries = made.release());
}

[[noreturn]] OPYARD_COLD void refuse_gradient(const GradientLibrary& library) {
  std::string text =
      "it requires a gradient, and what is done with it here would not be taped; pass "
      "x.detach()";
  if (library.is_grad_enabled && PyModule_Check(library.package.get()) != 0) {
    const char* const name = PyModule_GetName(library.package.get());
    if (name == nullptr) throw PythonErrorSet();
    text += std::string(", or call under ") + name + ".no_grad()";
  }
  fail(ErrorKind::BadValue, std::move(text));
}

[[noreturn]] OPYARD_COLD void refuse_view(const char* what, const char* method) {
  fail(ErrorKind::BadValue, std::string("the operator writes to this argument, which is a ") +
                                what + " view of other memory; pass x." + method + "()");
}

Owned resolved(PyObject* array, const char* method) {
  return checked(in_python([&] { return PyObject_CallMethod(array, method, nullptr); }));
}

}  // namespace

const BeyondMemory* find_beyond_memory(Runtime& runtime, PyTypeObject* type) {
  ForeignState& state = *runtime.foreign;
  BeyondMemory beyond;
  beyond.requires_grad = find_attribute_question(type, state.requires_grad_name);
  beyond.is_conj = find_method_question(type, state.is_conj_name);
  beyond.is_neg = find_method_question(type, state.is_neg_name);
  PyObject* const first = beyond.requires_grad ? state.requires_grad_name
                          : beyond.is_conj     ? state.is_conj_name
                                               : state.is_neg_name;
  if (!beyond.requires_grad && !beyond.is_conj && !beyond.is_neg) return nullptr;
  PyObject* const owner = first_class_with(type, first);
  beyond.library =
      &gradient_library_of(state, owner == nullptr ? reinterpret_cast<PyObject*>(type) : owner);
  for (const BeyondMemory* one = state.beyond_memory; one != nullptr; one = one->older) {
    if (one->requires_grad == beyond.requires_grad && one->is_conj == beyond.is_conj &&
        one->is_neg == beyond.is_neg && one->library == beyond.library) {
      return one;
    }
  }
  beyond.older = state.beyond_memory;
  return state.beyond_memory = new BeyondMemory(beyond);
}

bool Question::judge(PyObject* given) {
  const Owned answer = checked(given);
  const int is_true = PyObject_IsTrue(answer.get());
  if (is_true < 0) throw PythonErrorSet();
  return is_true != 0;
}

void GradMode::ask(const GradientLibrary& library) {
  on_ = true;
  if (library.is_grad_enabled) {
    const Owned answer = checked(PyObject_CallNoArgs(library.is_grad_enabled.get()));
    const int is_true = PyObject_IsTrue(answer.get());
    if (is_true < 0) throw PythonErrorSet();
    on_ = is_true != 0;
  }
  known_ = &library;
}

Owned resolve(const BeyondMemory* beyond, PyObject* array, bool written, GradMode& mode) {
  if (beyond == nullptr) return {};
  const GradientLibrary& library = *beyond->library;
  if (in_python([&] { return beyond->requires_grad(array) && mode.is_on(library); })) {
    refuse_gradient(library);
  }
  const bool is_conj = in_python([&] { return beyond->is_conj(array); });
  if (is_conj && written) refuse_view("conjugate", "resolve_conj");
  const bool is_neg = in_python([&] { return beyond->is_neg(array); });
  if (is_neg && written) refuse_view("negative", "resolve_neg");
  Owned copy = is_conj ? resolved(array, "resolve_conj") : Owned();
  if (!is_neg) return copy;
  return resolved(copy ? copy.get() : array, "resolve_neg");
}

void count_write(const BeyondMemory* beyond, PyObject* array) {
  if (beyond == nullptr || !beyond->library->increment_version) return;
  checked(in_python(
      [&] { return PyObject_CallOneArg(beyond->library->increment_version.get(), array); }));
}

std::int64_t storage_offset_of(const BeyondMemory* beyond, PyObject* array) {
  if (beyond == nullptr) return 0;
  const Owned method = find_attribute(array, "storage_offset");
  if (!method) return 0;
  const Owned number = checked(in_python([&] { return PyObject_CallNoArgs(method.get()); }));
  const std::int64_t offset = PyLong_AsLongLong(number.get());
  if (offset == -1 && PyErr_Occurred() != nullptr) throw PythonErrorSet();
  return offset;
}

void drop_beyond_memory(Runtime& runtime) noexcept {
  ForeignState& state = *runtime.foreign;
  state.known.fill({});
  while (state.beyond_memory != nullptr) {
    const std::unique_ptr<const BeyondMemory> one(state.beyond_memory);
    state.beyond_memory = one->older;
  }
  while (state.gradient_libraries != nullptr) {
    const std::unique_ptr<GradientLibrary> one(state.gradient_libraries);
    state.gradient_libraries = one->older;
  }
}

}  // namespace opyard::python
