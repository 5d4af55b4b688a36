// objects/tensor/tensor_compare.cpp: comparison, hash, and the number of a tensor with one element.
//
// Comparing is elementwise and gives a bool tensor. A tensor is hashed by identity all the same,
// as one that changes in place must be.
#include "objects/tensor/aten.h"
#include "objects/tensor/tensor_parts.h"
#include "objects/values/element.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

constexpr AtenName kComparisons[] = {AtenName::lt, AtenName::le, AtenName::eq,
                                     AtenName::ne, AtenName::gt, AtenName::ge};
static_assert(Py_LT == 0 && Py_LE == 1 && Py_EQ == 2 && Py_NE == 3 && Py_GT == 4 && Py_GE == 5);

PyObject* compare_tensors(PyObject* self, PyObject* other, int op) {
  return enter_from_python([&]() -> PyObject* {
    Runtime& runtime = runtime_of_tensor(self);
    if (is_tensor(runtime, other)) {
      return call_aten(runtime, kComparisons[op], {self, other}).release();
    }
    if (is_number(other)) return call_with_number(runtime, kComparisons[op], self, other).release();
    const Owned array = find_array_operand(runtime, other);
    if (!array) Py_RETURN_NOTIMPLEMENTED;
    return call_aten(runtime, kComparisons[op], {self, array.get()}).release();
  });
}

Py_hash_t hash_comparison(PyObject* self) { return PyBaseObject_Type.tp_hash(self); }

int to_truth(PyObject* self) {
  return enter_from_python(-1, [&] {
    const Tensor& tensor = tensor_unchecked(self);
    if (tensor.numel() != 1) {
      fail(ErrorKind::BadValue,
           "the truth of a tensor of " + std::to_string(tensor.numel()) +
               " elements is not defined; ask for one element, or reduce with any() or all()");
    }
    const int truth = PyObject_IsTrue(only_element(self, "bool").get());
    if (truth < 0) throw PythonErrorSet();
    return truth;
  });
}

PyObject* tensor_to_int(PyObject* self) {
  return enter_from_python([&] { return PyNumber_Long(only_element(self, "int").get()); });
}
PyObject* tensor_to_float(PyObject* self) {
  return enter_from_python([&] { return PyNumber_Float(only_element(self, "float").get()); });
}

// If Python wants an index, only an integer will do.
PyObject* to_index(PyObject* self) {
  return enter_from_python([&] {
    const Tensor& tensor = tensor_unchecked(self);
    if (!is_integral(tensor.dtype()) || tensor.numel() != 1) {
      fail(ErrorKind::BadArgument,
           "the tensor is " + describe(tensor) +
               "; as an index only an integer tensor of one element is accepted");
    }
    return only_element(self, "index").release();
  });
}

PyType_Slot comparison_slots[] = {{Py_tp_richcompare, slot(compare_tensors)},
                                  {Py_tp_hash, slot(hash_comparison)},
                                  {Py_nb_bool, slot(to_truth)},
                                  {Py_nb_int, slot(tensor_to_int)},
                                  {Py_nb_float, slot(tensor_to_float)},
                                  {Py_nb_index, slot(to_index)}};

}  // namespace

TypeSlots compare_slots() { return comparison_slots; }

}  // namespace opyard::python
