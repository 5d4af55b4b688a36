// objects/tensor/tensor_life.cpp: lifetime of a tensor's Python object.
//
// [Identity] A wrapper owns its tensor, and the tensor's object link points back to it without
// owning. So the link never dangles: a tensor cannot die before its wrapper, and a dying
// wrapper empties the link before anything else can run.
//
//   Python ──owns──> TensorObject ──owns──> TensorImpl ──> Storage
//                         ^                     │
//                         └── object link ──────┘   borrowed; null if no wrapper lives
// A wrapper of wrap_untagged() is not linked, and its tensor is no interpreter's, until it gets an
// attribute; then it is as any other.
//
// [Keeping] Python may let go of a wrapper while C++ owners of its tensor are left. A plain one
// dies, and no one can tell it from the next one. One with something to lose, an instance of a
// subclass, attributes, or weak references, is owned by the tensor instead: the arrows turn round.
//
//   C++ ──owns──> TensorImpl ──owns, object link──> TensorObject ─ ─keeper─ ─> TensorImpl
//
// It turns back when the tensor is wrapped, and when the wrapper is reached by a weak reference.
// If C++ lets go first, the tensor is left to the wrapper (TensorImpl::end), which then dies as
// if Python had let go of it last: its __del__ runs, its weak references end, once.
//
// For instances of subclasses the finaliser does it, which Python asks before it takes an object
// apart; for exact wrappers the deallocator. The collector calls the finaliser, too, for wrappers
// that only a cycle of Python's reaches; it has cleared their weak references by then.
//
// [Free list] A dead wrapper's memory waits for the next one: 64 of them an interpreter, exact type
// only. Such memory is no object, but it keeps its reference to the type and is otherwise as it was
// made, so that a next wrapper has nothing to store but its tensor: the count's lock instruction
// waits for stores (bench row call).
//
// [Collection] An exact wrapper is tracked by the collector from its first attribute on: before, it
// owns no Python object that it could close a cycle through. Attributes of a wrapper whose tensor
// has C++ owners are not shown to the collector, which then takes them for reached from outside, as
// they are. Owners can only let go while it runs, since coming takes the GIL. What is in
// __slots__ is shown. So are hooks and backward functions in Python that only this tensor keeps:
// code that gives a tensor one gives its wrapper a dictionary of attributes too, empty as a rule.
#include "objects/tensor/tensor.h"

#include <new>

#include "objects/tensor/leak_check.h"
#include "objects/tensor/tensor_parts.h"
#include "opyard/detail/python/clear.h"
#include "opyard/detail/python/python.h"
#include "opyard/detail/tensor/gradient_functions.h"
#include "runtime/hooks.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

TensorObject& wrapper_of(PyObject* self) { return *reinterpret_cast<TensorObject*>(self); }
PyObject* wrapper_object(TensorObject& wrapper) { return reinterpret_cast<PyObject*>(&wrapper); }

// What a wrapper has beside its tensor, before anything has been set on it.
void clear_parts(TensorObject& wrapper, Runtime& runtime) noexcept {
  wrapper.keeper = nullptr;
  wrapper.runtime = &runtime;
  wrapper.weak_references = nullptr;
  wrapper.attributes = nullptr;
  wrapper.finalized = false;
}

// For an exact wrapper, cleared. See [Free list].
TensorObject* take_from_free_list(Runtime& runtime) noexcept {
  TensorObject* const memory = runtime.free_tensors[--runtime.free_tensor_count];
  revive(reinterpret_cast<PyObject*>(memory));
  return memory;
}
TensorObject* take_memory(Runtime& runtime) {
  if (runtime.free_tensor_count > 0) return take_from_free_list(runtime);
  TensorObject* const fresh = PyObject_GC_New(TensorObject, runtime.tensor_type);
  if (fresh == nullptr) {
    clear_or_report(PyExc_MemoryError);  // the C++ exception says it, wherever it ends
    throw std::bad_alloc();
  }
  clear_parts(*fresh, runtime);
  if (leak_check != nullptr) leak_check->add(LeakCheck::Kind::Tensor, fresh, "");
  return fresh;
}

void give_memory_back(Runtime& runtime, TensorObject* memory, PyTypeObject* type) noexcept {
  if (type == runtime.tensor_type && runtime.free_tensor_count < runtime.most_free_tensors) {
    runtime.free_tensors[runtime.free_tensor_count++] = memory;
    return;
  }
  if (leak_check != nullptr) leak_check->remove(memory);
  type->tp_free(memory);
  Py_DECREF(type);
}

bool has_other_owners(const TensorObject& wrapper) noexcept {
  return wrapper.tensor.defined() && wrapper.tensor.impl()->owner_count() > 1;
}

// See [Keeping]. The link takes over one reference to the wrapper, which may be gone afterwards:
// if the other owners have let go meanwhile. An only owner has to count from now on, since the
// wrapper, which is none, may add one at the same time.
void leave_to_tensor(TensorObject& wrapper) noexcept {
  const Tensor tensor = std::move(wrapper.tensor);
  CountedAccess::watch(tensor.impl().get());
  wrapper.keeper = tensor.impl().get();
  wrapper.keeper->object_link().set_owns_object_with_lock_held(true);
}

// Turns it back. Whether the tensor was left to the wrapper: then its last owner gives the
// tensor's reference to the wrapper back, else the caller does.
bool return_from_tensor(TensorObject& wrapper) noexcept {
  bool was_left = false;
  TensorImpl* const keeper = std::exchange(wrapper.keeper, nullptr);
  wrapper.tensor = Tensor(keeper->return_to_object_with_lock_held(was_left));
  clear_finalized(wrapper_object(wrapper));
  return was_left;
}

// The class's own __del__, once in a wrapper's life.
void run_finalizer_of_class(TensorObject& wrapper) noexcept {
  if (wrapper.finalized) return;
  wrapper.finalized = true;
  PyObject* const self = wrapper_object(wrapper);
  PyObject* const former = take_exception();
  const Owned finalizer = Owned::share(lookup_on_type(Py_TYPE(self), wrapper.runtime->del_name));
  if (finalizer) {
    const Owned result =
        Owned::steal(in_python([&] { return PyObject_CallOneArg(finalizer.get(), self); }));
    if (!result) PyErr_WriteUnraisable(finalizer.get());
  }
  if (former != nullptr) restore_exception(former);
}

// See [Identity]. Weak references are told after the link is empty, since their callbacks may
// meet the tensor again and wrap it anew; the tensor goes last, since dropping it may run
// anything.
[[gnu::aligned(64)]] void deallocate_tensor_life(PyObject* self) {
  TensorObject& wrapper = wrapper_of(self);
  Runtime& runtime = *wrapper.runtime;
  PyTypeObject* const type = Py_TYPE(self);
  if (__builtin_expect(!wrapper.tensor.defined(), 0)) return_from_tensor(wrapper);
  const bool has_more = wrapper.weak_references != nullptr || wrapper.attributes != nullptr;
  if (__builtin_expect(has_more || type != runtime.tensor_type, 0)) {
    if (type == runtime.tensor_type && has_other_owners(wrapper) &&
        wrapper.tensor.impl()->object_link().holds(runtime.tag, self)) {
      Py_SET_REFCNT(self, 1);
      leave_to_tensor(wrapper);
      return;
    }
    PyObject_GC_UnTrack(self);
  }
  ObjectLink& link = wrapper.tensor.impl()->object_link();
  if (link.holds(runtime.tag, self)) link.set_object_with_lock_held(nullptr);
  if (__builtin_expect(has_more, 0)) {
    if (wrapper.weak_references != nullptr) PyObject_ClearWeakRefs(self);
    Py_CLEAR(wrapper.attributes);
    clear_finalized(self);
    wrapper.finalized = false;
  }
  const Tensor last = std::move(wrapper.tensor);
  wrapper.tensor.~Tensor();
  give_memory_back(runtime, &wrapper, type);
}

// Of a tensor that the wrapper alone owns.
int visit_gradient_objects(const TensorObject& wrapper, visitproc visit, void* arg) {
  const auto* const objects = detail::gradient_functions.load(std::memory_order_acquire);
  if (objects == nullptr || !wrapper.tensor.defined()) return 0;
  struct Visitor {
    visitproc visit;
    void* arg;
  } visitor{visit, arg};
  return objects->visit(
      *wrapper.tensor.impl(), wrapper.runtime->tag,
      [](void* object, void* argument) {
        const auto& to = *static_cast<const Visitor*>(argument);
        return to.visit(static_cast<PyObject*>(object), to.arg);
      },
      &visitor);
}

int traverse_tensor_life(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (has_other_owners(wrapper_of(self))) return 0;
  Py_VISIT(wrapper_of(self).attributes);
  return visit_gradient_objects(wrapper_of(self), visit, arg);
}

// An exact wrapper is then as one that never had attributes: see [Collection].
int clear_tensor_life(PyObject* self) {
  TensorObject& wrapper = wrapper_of(self);
  if (Py_TYPE(self) == wrapper.runtime->tensor_type) {
    PyObject_GC_UnTrack(self);
    clear_finalized(self);
    wrapper.finalized = false;
  }
  Py_CLEAR(wrapper.attributes);
  if (const auto* const objects = detail::gradient_functions.load(std::memory_order_acquire)) {
    if (wrapper.tensor.defined() && !has_other_owners(wrapper)) {
      objects->clear(*wrapper.tensor.impl(), wrapper.runtime->tag);
    }
  }
  return 0;
}

// See [Identity]. If another interpreter was first, or the tensor was wrapped again, it
// stays outside.
OPYARD_COLD void put_into_slot(TensorObject& wrapper) noexcept {
  Runtime& runtime = *wrapper.runtime;
  ObjectLink& link = wrapper.tensor.impl()->object_link();
  try {
    link.claim(runtime.tag);
  } catch (const Error&) {
    return;
  }
  if (link.object(runtime.tag) == nullptr) link.set_object_with_lock_held(&wrapper);
}

// See [Collection].
void track_attributes(PyObject* self) noexcept {
  const Tensor& tensor = wrapper_of(self).tensor;
  if (tensor.defined() && tensor.impl()->object_link().tag() == nullptr) {
    put_into_slot(wrapper_of(self));
  }
  if (wrapper_of(self).attributes != nullptr && PyObject_GC_IsTracked(self) == 0) {
    PyObject_GC_Track(self);
  }
}

// Whether it would keep an attribute that a program written for PyTorch means to be the memory.
// A class that handles operators, or defines it, may have one of that name.
bool is_assigned_data(PyObject* self, PyObject* name, PyObject* value) noexcept {
  if (value == nullptr || !PyUnicode_Check(name)) return false;
  if (PyUnicode_CompareWithASCIIString(name, "data") != 0) return false;
  const Tensor& tensor = wrapper_of(self).tensor;
  if (tensor.defined() && tensor.impl()->keys().has(DispatchKey::Python)) return false;
  return _PyType_Lookup(Py_TYPE(self), name) == nullptr;
}

int set_tensor_attribute(PyObject* self, PyObject* name, PyObject* value) {
  if (__builtin_expect(is_assigned_data(self, name, value), 0)) {
    PyErr_Format(PyExc_AttributeError,
                 "%s: data cannot be assigned, and an object of %s came; x.copy_(other) writes the "
                 "elements of another tensor into this one, under opyard.no_grad() if it requires "
                 "a gradient",
                 Py_TYPE(self)->tp_name, Py_TYPE(value)->tp_name);
    return -1;
  }
  const int failed = PyObject_GenericSetAttr(self, name, value);
  track_attributes(self);
  return failed;
}

// The linked wrapper, or null. One whose deallocation has begun does not count.
Owned find_live(Runtime& runtime, ObjectLink& link, Tensor& tensor) {
  auto* const live = static_cast<PyObject*>(link.object(runtime.tag));
  if (live == nullptr) return {};
  if (link.owns_object()) {
    TensorObject& wrapper = wrapper_of(live);
    wrapper.keeper = nullptr;
    link.set_owns_object_with_lock_held(false);
    wrapper.tensor = std::move(tensor);
    clear_finalized(live);
    return Owned::steal(live);
  }
  if (Py_REFCNT(live) == 0) return {};
  // A __del__ may have brought it back to life: then its finaliser is to be asked again.
  if (wrapper_of(live).finalized) clear_finalized(live);
  return Owned::share(live);
}

// What wrap_reference() leaves: the undefined tensor, one with a wrapper, one that others may tag,
// and if no memory waits.
[[gnu::noinline]] PyObject* wrap_otherwise(Runtime& runtime, Tensor&& tensor) {
  if (!tensor.defined()) return Py_NewRef(Py_None);
  ObjectLink& link = tensor.impl()->object_link();
  if (Owned live = find_live(runtime, link, tensor)) return live.release();
  LinkStatus status = link.status(runtime.tag);
  if (status == LinkStatus::MaybeUntagged) {
    if (tensor.impl()->is_unshared()) {
      status = LinkStatus::DefinitelyUntagged;
    } else {
      // Python may do anything to the array whose memory this is.
      tensor.impl()->storage()->resolve();
      link.claim(runtime.tag);
      status = LinkStatus::TaggedByUs;
    }
  }
  TensorObject* const wrapper = take_memory(runtime);
  link.init(runtime.tag, wrapper, status);
  new (&wrapper->tensor) Tensor(std::move(tensor));
  return wrapper_object(*wrapper);
}

PyType_Slot tensor_life_slots[] = {{Py_tp_dealloc, slot(deallocate_tensor_life)},
                                   {Py_tp_finalize, slot(finalize_tensor)},
                                   {Py_tp_traverse, slot(traverse_tensor_life)},
                                   {Py_tp_clear, slot(clear_tensor_life)},
                                   {Py_tp_setattro, slot(set_tensor_attribute)}};

}  // namespace

TypeSlots life_slots() { return tensor_life_slots; }

PyObject* get_attributes(PyObject* self, void* closure) {
  PyObject* const attributes = PyObject_GenericGetDict(self, closure);
  track_attributes(self);
  return attributes;
}

int set_attributes(PyObject* self, PyObject* value, void* closure) {
  const int failed = PyObject_GenericSetDict(self, value, closure);
  track_attributes(self);
  return failed;
}

void finalize_tensor(PyObject* self) {
  TensorObject& wrapper = wrapper_of(self);
  if (!wrapper.tensor.defined()) return;
  if (!has_other_owners(wrapper)) {
    run_finalizer_of_class(wrapper);
    if (!has_other_owners(wrapper)) return;  // else __del__ has given the tensor to someone
  }
  Py_INCREF(self);
  leave_to_tensor(wrapper);
  // If the owners let go just then, it has come back already, and dies now.
  if (wrapper.keeper == nullptr) run_finalizer_of_class(wrapper);
}

void take_back_from_tensor(TensorObject& wrapper) noexcept {
  if (!return_from_tensor(wrapper))
    Py_DECREF(wrapper_object(wrapper));  // the caller has another one
}

void return_left_wrapper(PyObject* object) noexcept {
  const Runtime* const runtime = find_runtime();
  if (runtime == nullptr || !is_tensor(*runtime, object)) return;
  TensorObject& wrapper = wrapper_of(object);
  if (wrapper.keeper != nullptr && wrapper.keeper->is_left_to_object()) return_from_tensor(wrapper);
}

// See operators/direct_call.cpp, [Places].
[[gnu::aligned(64)]] PyObject* wrap_reference(Runtime& runtime, Tensor&& tensor) {
  if (tensor.defined() && runtime.free_tensor_count > 0) {
    ObjectLink& link = tensor.impl()->object_link();
    const bool is_ours = link.holds(runtime.tag, nullptr);
    if (is_ours || (link.tag() == nullptr && tensor.impl()->is_unshared())) {
      TensorObject* const wrapper = take_from_free_list(runtime);
      link.init(runtime.tag, wrapper,
                is_ours ? LinkStatus::TaggedByUs : LinkStatus::DefinitelyUntagged);
      new (&wrapper->tensor) Tensor(std::move(tensor));
      return reinterpret_cast<PyObject*>(wrapper);
    }
  }
  return wrap_otherwise(runtime, std::move(tensor));
}

Owned wrap_untagged(Runtime& runtime, Tensor&& tensor) {
  TensorObject* const wrapper = take_memory(runtime);
  new (&wrapper->tensor) Tensor(std::move(tensor));
  return Owned::steal(reinterpret_cast<PyObject*>(wrapper));
}

Owned wrap_as(Runtime& runtime, PyTypeObject* type, Tensor tensor) {
  ObjectLink& link = tensor.impl()->object_link();
  if (const Owned live = find_live(runtime, link, tensor)) refuse_second_object(type, live.get());
  if (link.status(runtime.tag) != LinkStatus::TaggedByUs) link.claim(runtime.tag);
  Owned made = checked(type->tp_alloc(type, 0));
  TensorObject& wrapper = wrapper_of(made.get());
  type->tp_finalize = finalize_tensor;  // a class beside this one may have put its own there
  clear_parts(wrapper, runtime);
  if (leak_check != nullptr) leak_check->add(LeakCheck::Kind::Tensor, made.get(), "");
  new (&wrapper.tensor) Tensor(std::move(tensor));
  link.set_object_with_lock_held(made.get());
  return made;
}

}  // namespace opyard::python
