// objects/tensor/tensor.cpp: the Tensor type as a whole.
//
// Its parts are in files of their own, see tensor_parts.h; the life of a wrapper is in
// tensor_life.cpp.
#include "objects/tensor/tensor.h"

#include <structmember.h>

#include <new>
#include <vector>

#include "objects/tensor/aten.h"
#include "objects/tensor/bound_method.h"
#include "objects/tensor/dlpack_table.h"
#include "objects/tensor/tensor_functions.h"
#include "objects/tensor/tensor_parts.h"
#include "objects/tensor/traced_read.h"
#include "runtime/hooks.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

PyObject* represent_tensor(PyObject* self) {
  return enter_from_python([&] {
    note_read(self, "repr()");
    PyObject* const format = require_hook(runtime_of_tensor(self), hook::format_tensor);
    return PyObject_CallOneArg(format, self);
  });
}

PyMemberDef tensor_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weak_references), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(TensorObject, attributes), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

constexpr char kDoc[] =
    "An array of elements of one type, on one device.\n\n"
    "Tensors are made by opyard.tensor(), from_numpy(), from_dlpack() and by operators. "
    "Arithmetic, "
    "comparison, indexing, and every method that is not listed here, lead to the aten operator of "
    "that name.";

PyType_Slot own_slots[] = {
    {Py_tp_doc, const_cast<char*>(kDoc)}, {Py_tp_new, slot(refuse_new)},
    {Py_tp_repr, slot(represent_tensor)}, {Py_tp_getattro, slot(get_tensor_attribute)},
    {Py_tp_getset, tensor_properties},    {Py_tp_methods, tensor_methods},
    {Py_tp_members, tensor_members}};

}  // namespace

PyMethodDef tensor_functions[] = {
    {"tensor", method(construct), METH_VARARGS | METH_KEYWORDS,
     "tensor(data, *, dtype=None, device=None, requires_grad=False)\n--\n\n"
     "A new tensor with a copy of `data`: a number, nested sequences of numbers, a Tensor, or an "
     "object with the buffer protocol or __dlpack__. Without `dtype`, sequences of bool, int, "
     "float "
     "and complex give bool, int64, float32 and complex64. As `dtype`, Python's float, int and "
     "bool are float64, int64 and "
     "bool. "
     "`device` is 'cpu' or 'meta'. With `requires_grad` it is a leaf that gets a gradient. Raises "
     "TypeError for what is no number and for a gradient of ints, ValueError for ragged "
     "sequences and for numbers that the dtype cannot hold."},
    {"empty_meta", empty_meta, METH_VARARGS, "empty_meta(dtype, shape)"},
    {"from_numpy", import_array, METH_O,
     "from_numpy(array, /)\n--\n\n"
     "A tensor on the memory of a NumPy array, or of another object with the buffer protocol. The "
     "array lives as long as the tensor; a read-only array gives a read-only tensor. Raises "
     "TypeError for other objects, ValueError for element types, byte orders and strides that "
     "tensors do not have."},
    {"from_dlpack", import_dlpack, METH_O,
     "from_dlpack(source, /)\n--\n\n"
     "A tensor on the memory of an array whose type has DLPack's exchange table, of an object with "
     "__dlpack__, or of a DLPack capsule, which is used up. Raises TypeError for other objects, "
     "NotImplementedError for memory that the CPU cannot "
     "read and unknown element types, ValueError for a capsule that is used up or contradicts "
     "itself, and for strides below zero, as from_numpy() does."},
    {"tensor_for", tensor_for, METH_O,
     "tensor_for(object) -> Tensor | None; what an operator takes for an array of another library"},
    {nullptr, nullptr, 0, nullptr}};

void add_tensor_type(Runtime& runtime, PyObject* module) {
  std::vector<PyType_Slot> slots(std::begin(own_slots), std::end(own_slots));
  for (const TypeSlots part :
       {life_slots(), number_slots(), compare_slots(), container_slots(), buffer_slots()}) {
    slots.insert(slots.end(), part.begin(), part.end());
  }
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"opyard.Tensor", sizeof(TensorObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots.data()};
  add_type(module, spec, runtime.tensor_type);
  make_properties(runtime.tensor_type);
  add_bound_method_type(module, runtime);
  make_tensor_class(runtime, module);
  offer_exchange_table(runtime.tensor_type);
}

void drop_tensor_caches(Runtime& runtime) noexcept {
  drop_aten_packets(runtime);
  Py_CLEAR(runtime.empty_kwargs);
  drop_free_methods(runtime);
  runtime.most_free_tensors = 0;
  while (runtime.free_tensor_count > 0) {
    PyObject_GC_Del(runtime.free_tensors[--runtime.free_tensor_count]);
    Py_DECREF(runtime.tensor_type);
  }
}

}  // namespace opyard::python
