// objects/tensor.cpp: the Tensor type as a whole, and the life of a wrapper.
//
// [Identity] A wrapper owns its tensor, and the tensor's object slot points back to it without
// owning. So the slot never dangles: a tensor cannot die before its wrapper, and a dying
// wrapper empties the slot before anything else can run.
//
//   Python ──owns──> TensorObject ──owns──> TensorImpl ──> Storage
//                         ^                     │
//                         └── object slot ──────┘   borrowed; null where no wrapper lives
//
// [Free list] A dead wrapper's memory waits for the next one: 64 of them an interpreter. Such
// memory is no object: it holds no reference, not even to its type.
//
// The type takes no part in garbage collection: a wrapper owns no Python object that it could
// close a cycle through, except by way of memory that a foreign array owns.
#include "objects/tensor.h"

#include <structmember.h>

#include <new>
#include <vector>

#include "objects/aten.h"
#include "objects/tensor_functions.h"
#include "objects/tensor_parts.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

TensorObject* take_memory(Runtime& runtime) {
  if (runtime.free_tensor_count > 0) {
    TensorObject* const memory = runtime.free_tensors[--runtime.free_tensor_count];
    PyObject_Init(reinterpret_cast<PyObject*>(memory), runtime.tensor_type);
    return memory;
  }
  TensorObject* const fresh = PyObject_New(TensorObject, runtime.tensor_type);
  if (fresh == nullptr) {
    PyErr_Clear();  // the C++ exception says it, wherever it ends
    throw std::bad_alloc();
  }
  return fresh;
}

// The interpreter may be closing: then there is no runtime, and no free list either.
void give_memory_back(TensorObject* memory, PyTypeObject* type) noexcept {
  Runtime* const runtime = find_runtime();
  if (runtime != nullptr && runtime->tensor_type == type &&
      runtime->free_tensor_count < Runtime::kFreeListSize) {
    runtime->free_tensors[runtime->free_tensor_count++] = memory;
  } else {
    PyObject_Free(memory);
  }
  Py_DECREF(type);
}

// See [Identity]. Weak references are told after the slot is empty, since their callbacks may
// meet the tensor again and wrap it anew; the tensor goes last, since dropping it may run
// anything.
void deallocate(PyObject* self) {
  auto* const wrapper = reinterpret_cast<TensorObject*>(self);
  wrapper->tensor.impl()->object_slot().set_object_with_lock_held(nullptr);
  if (wrapper->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  const Tensor last = std::move(wrapper->tensor);
  wrapper->tensor.~Tensor();
  give_memory_back(wrapper, Py_TYPE(self));
}

PyObject* refuse_new(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError,
                  "opyard.Tensor is not called; use opyard.tensor(data) for a copy of numbers, "
                  "opyard.from_numpy(array) or opyard.from_dlpack(object) to share memory");
  return nullptr;
}

PyObject* represent(PyObject* self) {
  return entry_from_python([&] {
    PyObject* const format = require_hook(runtime_of(Py_TYPE(self)), "format_tensor");
    return PyObject_CallOneArg(format, self);
  });
}

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

constexpr char kDoc[] =
    "An array of elements of one type, on one device.\n\n"
    "Tensors are made by opyard.tensor(), from_numpy(), from_dlpack() and by operators. "
    "Arithmetic, "
    "comparison, indexing, and every method that is not listed here, lead to the aten operator of "
    "that name.";

PyType_Slot own_slots[] = {{Py_tp_doc, const_cast<char*>(kDoc)},
                           {Py_tp_new, slot(refuse_new)},
                           {Py_tp_dealloc, slot(deallocate)},
                           {Py_tp_repr, slot(represent)},
                           {Py_tp_getattro, slot(get_tensor_attribute)},
                           {Py_tp_getset, tensor_properties},
                           {Py_tp_methods, tensor_methods},
                           {Py_tp_members, members}};

// NumPy's operators and functions step aside for a class with this attribute, so that
// `array + tensor` asks the tensor instead of adding it to each element.
void keep_numpy_from_taking_over(PyTypeObject* type) {
  if (PyObject_SetAttrString(reinterpret_cast<PyObject*>(type), "__array_ufunc__", Py_None) < 0) {
    throw PythonErrorSet();
  }
}

}  // namespace

Owned wrap(Runtime& runtime, Tensor tensor) {
  if (!tensor.defined()) return Owned::share(Py_None);
  ObjectSlot& slot = tensor.impl()->object_slot();
  if (void* const live = slot.object(runtime.tag)) {
    return Owned::share(static_cast<PyObject*>(live));
  }
  if (slot.status(runtime.tag) != SlotStatus::TaggedByUs) slot.claim(runtime.tag);
  TensorObject* const wrapper = take_memory(runtime);
  new (&wrapper->tensor) Tensor(std::move(tensor));
  wrapper->weak_references = nullptr;
  slot.set_object_with_lock_held(wrapper);
  return Owned::steal(reinterpret_cast<PyObject*>(wrapper));
}

PyMethodDef tensor_functions[] = {
    {"tensor", method(construct), METH_VARARGS | METH_KEYWORDS,
     "tensor(data, *, dtype=None)\n--\n\n"
     "A new tensor with a copy of `data`: a number, nested sequences of numbers, a Tensor, or an "
     "object with the buffer protocol or __dlpack__. Without `dtype`, sequences of bool, int and "
     "float give "
     "bool, int64 and float32. Raises TypeError for what is no number, ValueError for ragged "
     "sequences and for numbers that the dtype cannot hold."},
    {"from_numpy", import_array, METH_O,
     "from_numpy(array, /)\n--\n\n"
     "A tensor on the memory of a NumPy array, or of another object with the buffer protocol. The "
     "array lives as long as the tensor; a read-only array gives a read-only tensor. Raises "
     "TypeError for other objects, ValueError for element types, byte orders and strides that "
     "tensors do not have."},
    {"from_dlpack", import_dlpack, METH_O,
     "from_dlpack(source, /)\n--\n\n"
     "A tensor on the memory of an object with __dlpack__, or of a DLPack capsule, which is used "
     "up. Raises TypeError for other objects, NotImplementedError for memory that the CPU cannot "
     "read and unknown element types, ValueError for a capsule that is used up or contradicts "
     "itself, and for strides below zero, as from_numpy() does."},
    {nullptr, nullptr, 0, nullptr}};

void add_tensor_type(Runtime& runtime, PyObject* module) {
  std::vector<PyType_Slot> slots(std::begin(own_slots), std::end(own_slots));
  for (const TypeSlots part :
       {number_slots(), compare_slots(), container_slots(), buffer_slots()}) {
    slots.insert(slots.end(), part.begin(), part.end());
  }
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"opyard.Tensor", sizeof(TensorObject), 0, Py_TPFLAGS_DEFAULT, slots.data()};
  add_type(module, spec, runtime.tensor_type);
  keep_numpy_from_taking_over(runtime.tensor_type);
}

void drop_tensor_caches(Runtime& runtime) noexcept {
  drop_aten_packets(runtime);
  while (runtime.free_tensor_count > 0) {
    PyObject_Free(runtime.free_tensors[--runtime.free_tensor_count]);
  }
}

}  // namespace opyard::python
