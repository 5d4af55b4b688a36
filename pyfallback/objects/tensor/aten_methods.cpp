// objects/tensor/aten_methods.cpp: the names of operators come into the class of Tensor.
//
// Overview. AtenMethod is the descriptor that the class has for a name; Changes are the names that
// came since the class was brought up to date; AtenMethods is what a runtime holds of both.
#include "objects/tensor/aten_methods.h"

#include <structmember.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "objects/tensor/aten.h"
#include "objects/tensor/tensor_parts.h"
#include "opyard/registry/listener.h"
#include "opyard/registry/registry.h"
#include "runtime/clear.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

// How Tensor looks attributes up: `from` becomes `to`, if that is how.
void change_lookup(PyTypeObject* tensor, getattrofunc from, getattrofunc to) noexcept {
  std::atomic_ref<getattrofunc>(tensor->tp_getattro).compare_exchange_strong(from, to);
}

// Names of aten that came: lists of nodes, since taking some and giving them back needs no memory.
class Changes {
 public:
  struct Node {
    std::string name;  // "relu"
    Node* next = nullptr;
  };

  explicit Changes(PyTypeObject* tensor) noexcept : tensor_(tensor) {}
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;
  ~Changes() { drop(take()); }

  // Any thread, until end().
  void add(std::string_view name) {
    put_back(new Node{std::string(name)});
    users_.fetch_add(1);
    if (PyTypeObject* const tensor = tensor_.load()) {
      change_lookup(tensor, PyObject_GenericGetAttr, get_tensor_attribute);
    }
    users_.fetch_sub(1);
  }

  bool none() const noexcept { return first_.load() == nullptr; }
  Node* take() noexcept { return first_.exchange(nullptr); }
  void put_back(Node* nodes) noexcept {
    if (nodes == nullptr) return;
    Node* last = nodes;
    while (last->next != nullptr) last = last->next;
    last->next = first_.load();
    while (!first_.compare_exchange_weak(last->next, nodes)) {
    }
  }

  // Names may have come while the class was completed: then it goes on looking here.
  void finish() noexcept {
    PyTypeObject* const tensor = tensor_.load();
    if (tensor == nullptr) return;
    change_lookup(tensor, get_tensor_attribute, PyObject_GenericGetAttr);
    if (!none()) change_lookup(tensor, PyObject_GenericGetAttr, get_tensor_attribute);
  }

  // Nothing touches the class from now on. In the child of a fork other users are gone for ever.
  void end() noexcept {
    tensor_.store(nullptr);
    while (users_.load() != 0 && getpid() == process_) std::this_thread::yield();
  }

  static void drop(Node* nodes) noexcept {
    while (nodes != nullptr) delete std::exchange(nodes, nodes->next);
  }

 private:
  std::atomic<Node*> first_ = nullptr;
  std::atomic<PyTypeObject*> tensor_;
  std::atomic<int> users_ = 0;
  const pid_t process_ = getpid();
};

// Of one runtime.
struct AtenMethods {
  PyObject_HEAD PyTypeObject* method_type;
  std::shared_ptr<Changes> changes;
  Registration listening;
  bool knows_others = false;         // than operators that are defined: see the hook method_names
  std::vector<PyObject*> methods{};  // owned
};

AtenMethods& methods_of(PyObject* self) { return *reinterpret_cast<AtenMethods*>(self); }
AtenMethods* find_methods(const Runtime& runtime) noexcept {
  return reinterpret_cast<AtenMethods*>(runtime.aten_methods);
}

// In the class for a name. `found` is of the state of the registry that the runtime says.
struct AtenMethod {
  PyObject_HEAD vectorcallfunc call;
  Runtime* runtime;
  PyObject* name;   // owned
  PyObject* found;  // owned: a packet, or a function that is made of others; or null
};

AtenMethod& method_of(PyObject* self) { return *reinterpret_cast<AtenMethod*>(self); }

// The registry has changed: all is looked for anew. Dropping may run code that comes here.
void forget_found(Runtime& runtime, std::uint64_t generation) {
  const Owned held = Owned::share(runtime.aten_methods);
  runtime.aten_methods_generation = generation;
  const std::vector<PyObject*>& methods = methods_of(held.get()).methods;
  for (std::size_t i = 0; i < methods.size(); ++i) Py_CLEAR(method_of(methods[i]).found);
}

// Sets AttributeError: `type` has no such attribute, or its instances have none.
void refuse_name(PyTypeObject* type, bool instance, PyObject* name) {
  PyErr_Format(PyExc_AttributeError,
               instance ? "'%.100s' object has no attribute '%U'"
                        : "type object '%.100s' has no attribute '%U'",
               type->tp_name, name);
}

// What the method leads to, or null with AttributeError: the operator is gone.
[[gnu::noinline]] PyObject* find(AtenMethod& method, PyTypeObject* type, bool instance) {
  return enter_from_python([&]() -> PyObject* {
    Runtime& runtime = *method.runtime;
    const std::uint64_t generation = Registry::generation();
    Owned found = find_aten(runtime, method.name);
    if (!found) {
      refuse_name(type, instance, method.name);
      return nullptr;
    }
    // Asking may have loaded the operators: what was found may be of a later state, and then it is
    // looked for again.
    if (runtime.aten_methods != nullptr && runtime.aten_methods_generation != generation) {
      forget_found(runtime, generation);
    }
    Owned kept = Owned::share(found.get());
    PyObject* const former = std::exchange(method.found, kept.release());
    Py_XDECREF(former);
    return found.release();
  });
}

bool is_found(const AtenMethod& method) noexcept {
  return method.found != nullptr &&
         method.runtime->aten_methods_generation == Registry::generation();
}

Owned require_found(AtenMethod& method, PyTypeObject* type, bool instance) {
  return __builtin_expect(is_found(method), 1) ? Owned::share(method.found)
                                               : Owned::steal(find(method, type, instance));
}

// t.relu(), without a bound method.
PyObject* call_method(PyObject* self, PyObject* const* args, std::size_t flags, PyObject* names) {
  AtenMethod& method = method_of(self);
  const bool bound = PyVectorcall_NARGS(flags) > 0;
  PyTypeObject* const type = bound ? Py_TYPE(args[0]) : method.runtime->tensor_type;
  const Owned found = require_found(method, type, true);
  return found ? PyObject_Vectorcall(found.get(), args, flags, names) : nullptr;
}

PyObject* get_method(PyObject* self, PyObject* object, PyObject* type) {
  const bool instance = object != nullptr && object != Py_None;
  PyTypeObject* const asked = instance ? Py_TYPE(object) : reinterpret_cast<PyTypeObject*>(type);
  Owned found = require_found(method_of(self), asked, instance);
  if (!found || !instance) return found.release();
  return PyMethod_New(found.get(), object);
}

PyObject* show_method(PyObject* self) {
  return PyUnicode_FromFormat("<method '%U' of 'opyard.Tensor' objects: aten::%U>",
                              method_of(self).name, method_of(self).name);
}

int traverse_method(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(method_of(self).found);
  return 0;
}
int clear_method(PyObject* self) {
  Py_CLEAR(method_of(self).found);
  return 0;
}
void deallocate_method(PyObject* self) {
  PyObject_GC_UnTrack(self);
  clear_method(self);
  Py_CLEAR(method_of(self).name);
  free_object(self);
}

PyMemberDef method_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(AtenMethod, call), READONLY, nullptr},
    {"__name__", T_OBJECT, offsetof(AtenMethod, name), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot method_slots[] = {
    {Py_tp_doc, const_cast<char*>("An operator of aten as a method of Tensor.")},
    {Py_tp_call, slot(PyVectorcall_Call)},
    {Py_tp_descr_get, slot(get_method)},
    {Py_tp_repr, slot(show_method)},
    {Py_tp_members, method_members},
    {Py_tp_traverse, slot(traverse_method)},
    {Py_tp_clear, slot(clear_method)},
    {Py_tp_dealloc, slot(deallocate_method)},
    {0, nullptr}};

PyType_Spec method_spec = {"opyard._C._AtenMethod", sizeof(AtenMethod), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                               Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_VECTORCALL |
                               Py_TPFLAGS_METHOD_DESCRIPTOR,
                           method_slots};

Owned make_method(Runtime& runtime, PyTypeObject* type, PyObject* name) {
  Owned made = checked(type->tp_alloc(type, 0));
  AtenMethod& method = method_of(made.get());
  method.call = call_method;
  method.runtime = &runtime;
  method.name = Py_NewRef(name);
  return made;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(methods_of(self).method_type);
  for (PyObject* const method : methods_of(self).methods) Py_VISIT(method);
  return 0;
}
int clear(PyObject* self) {
  for (PyObject* const method : std::exchange(methods_of(self).methods, {})) Py_DECREF(method);
  Py_CLEAR(methods_of(self).method_type);
  return 0;
}
void deallocate(PyObject* self) {
  PyObject_GC_UnTrack(self);
  clear(self);
  AtenMethods& methods = methods_of(self);
  if (methods.changes) methods.changes->end();
  methods.listening.~Registration();
  methods.changes.~shared_ptr();
  methods.methods.~vector();
  free_object(self);
}

PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>("The operators that are methods of Tensor.")},
                       {Py_tp_traverse, slot(traverse)},
                       {Py_tp_clear, slot(clear)},
                       {Py_tp_dealloc, slot(deallocate)},
                       {0, nullptr}};

PyType_Spec spec = {"opyard._C._AtenMethods", sizeof(AtenMethods), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

constexpr std::string_view kAten = "aten::";

void add_operator(Changes& changes, std::string_view name) {
  if (!name.starts_with(kAten)) return;
  name.remove_prefix(kAten.size());
  if (!name.starts_with('_')) changes.add(name);
}

// Told of all operators that there are, and of each that comes.
Registration listen(const std::shared_ptr<Changes>& changes) {
  RegistrationListener listener;
  listener.on_defined = [changes](const Operator& op) { add_operator(*changes, op.name().name); };
  return Registry::instance().listen(std::move(listener));
}

Owned require_methods(Runtime& runtime) {
  if (runtime.aten_methods != nullptr) return Owned::share(runtime.aten_methods);
  const Owned type = checked(PyType_FromSpec(&spec));
  auto* const made = reinterpret_cast<PyTypeObject*>(type.get());
  Owned fresh = checked(made->tp_alloc(made, 0));
  AtenMethods& methods = methods_of(fresh.get());
  new (&methods.changes) std::shared_ptr<Changes>();
  new (&methods.listening) Registration();
  new (&methods.methods) std::vector<PyObject*>();
  methods.method_type =
      reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&method_spec)).release());
  methods.changes = std::make_shared<Changes>(runtime.tensor_type);
  methods.listening = listen(methods.changes);
  // The collector may have run code that came here in between.
  if (runtime.aten_methods == nullptr) runtime.aten_methods = fresh.release();
  return Owned::share(runtime.aten_methods);
}

// Names that no operator has which is defined: of methods that are made of others, and of operators
// that are defined when they are first wanted.
void add_others(Runtime& runtime, AtenMethods& methods) {
  const Owned names = checked(PyObject_CallNoArgs(require_hook(runtime, "method_names")));
  const Owned items = checked(PySequence_Fast(names.get(), "method_names gives names"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    methods.changes->add(require_text(PySequence_Fast_GET_ITEM(items.get(), i), "a name"));
  }
  methods.knows_others = true;
}

// An attribute of the class itself stays.
void add_name(Runtime& runtime, AtenMethods& methods, std::string_view name) {
  PyTypeObject* const tensor = runtime.tensor_type;
  PyObject* text = to_text(name).release();
  PyUnicode_InternInPlace(&text);
  const Owned held = Owned::steal(text);
  const int has = PyDict_Contains(tensor->tp_dict, text);
  if (has < 0) throw PythonErrorSet();
  if (has != 0 || lookup_on_type(tensor, text) != nullptr) return;
  methods.methods.reserve(methods.methods.size() + 1);
  Owned method = make_method(runtime, methods.method_type, text);
  if (PyDict_SetItem(tensor->tp_dict, text, method.get()) < 0) throw PythonErrorSet();
  methods.methods.push_back(method.release());
}

void add_names(Runtime& runtime, AtenMethods& methods) {
  Changes::Node* nodes = methods.changes->take();
  try {
    while (nodes != nullptr) {
      add_name(runtime, methods, nodes->name);
      delete std::exchange(nodes, nodes->next);
    }
  } catch (...) {
    methods.changes->put_back(nodes);
    PyType_Modified(runtime.tensor_type);
    throw;
  }
  PyType_Modified(runtime.tensor_type);
}

}  // namespace

bool has_all_aten_methods(const Runtime& runtime) noexcept {
  const AtenMethods* const methods = find_methods(runtime);
  return methods != nullptr && methods->knows_others && methods->changes->none();
}

void complete_aten_methods(Runtime& runtime) {
  const Owned held = require_methods(runtime);
  AtenMethods& methods = methods_of(held.get());
  if (!methods.knows_others) add_others(runtime, methods);
  add_names(runtime, methods);
  methods.changes->finish();
}

void update_aten_methods(Runtime& runtime) {
  const AtenMethods* const methods = find_methods(runtime);
  if (methods == nullptr || has_all_aten_methods(runtime)) return;
  complete_aten_methods(runtime);
}

void uncover_aten_method(Runtime& runtime, PyObject* name) {
  if (AtenMethods* const methods = find_methods(runtime)) {
    methods->changes->add(require_text(name, "the name of an attribute"));
  }
}

void end_aten_methods(Runtime& runtime) noexcept {
  if (AtenMethods* const methods = find_methods(runtime)) methods->changes->end();
  Py_CLEAR(runtime.aten_methods);
}

Owned find_behind_tensor(Runtime& runtime, PyTypeObject* type, PyObject* object, PyObject* name) {
  PyObject* const order = type->tp_mro;  // ends with Tensor and object if nothing is behind Tensor
  const Py_ssize_t last = PyTuple_GET_SIZE(order) - 1;
  if (PyTuple_GET_ITEM(order, last - 1) == reinterpret_cast<PyObject*>(runtime.tensor_type)) {
    return {};
  }
  PyObject* const known = lookup_on_type(type, name);
  const AtenMethods* const methods = find_methods(runtime);
  if (known == nullptr || methods == nullptr || !Py_IS_TYPE(known, methods->method_type)) return {};
  const Owned behind = checked(PyObject_CallFunctionObjArgs(
      reinterpret_cast<PyObject*>(&PySuper_Type), reinterpret_cast<PyObject*>(runtime.tensor_type),
      object, nullptr));
  Owned found = Owned::steal(PyObject_GetAttr(behind.get(), name));
  if (!found && !clear_if(PyExc_AttributeError)) throw PythonErrorSet();
  return found;
}

}  // namespace opyard::python
