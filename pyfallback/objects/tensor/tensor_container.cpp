// objects/tensor/tensor_container.cpp: length, t[index], t[index] = value, iteration.
//
// What an index means is decided in opyard/_tensor/indexing.py, which the package hands over as
// hooks get_item(tensor, index) and set_item(tensor, index, value). The commonest indices are
// worked off in tensor_views.cpp instead.
#include "objects/tensor/tensor_parts.h"
#include "objects/tensor/traced_read.h"
#include "opyard/value/sym_tensor.h"
#include "runtime/hooks.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

// Raises BadArgument for a tensor without dimensions, BadValue for a length that is symbolic.
std::int64_t require_length(const Tensor& tensor, const char* what) {
  if (tensor.dim() == 0) {
    fail(ErrorKind::BadArgument, std::string(what) +
                                     " a tensor without dimensions is not "
                                     "possible; item() gives its number");
  }
  if (tensor.impl()->has_policy(TensorImpl::kSymbolic)) {
    const SymInt size = sym_sizes(tensor)[0];
    if (const auto known = size.maybe_as_int()) return *known;
    fail(ErrorKind::BadValue, std::string(what) + " a tensor of " + to_string(size) +
                                  " rows is not possible, since the number is not known here; "
                                  "x.shape[0] gives it");
  }
  return tensor.sizes()[0];
}

Py_ssize_t tensor_length(PyObject* self) {
  return enter_from_python(Py_ssize_t{-1}, [&] {
    note_read(self, "len()");
    return Py_ssize_t(require_length(tensor_unchecked(self), "taking the length of"));
  });
}

PyObject* get_item(PyObject* self, PyObject* index) {
  return enter_from_python([&] {
    if (Owned view = find_item_by_views(self, index)) return view.release();
    PyObject* const get = require_hook(runtime_of_tensor(self), hook::get_item);
    return PyObject_CallFunctionObjArgs(get, self, index, nullptr);
  });
}

int set_item(PyObject* self, PyObject* index, PyObject* value) {
  return enter_from_python(-1, [&] {
    if (value == nullptr) {
      fail(ErrorKind::BadArgument,
           "elements of a tensor cannot be deleted; index out the ones to keep");
    }
    PyObject* const set = require_hook(runtime_of_tensor(self), hook::set_item);
    checked(PyObject_CallFunctionObjArgs(set, self, index, value, nullptr));
    return 0;
  });
}

// For iteration, which asks until it hears IndexError.
PyObject* get_place(PyObject* self, Py_ssize_t place) {
  return enter_from_python([&] {
    if (place < 0 || place >= require_length(tensor_unchecked(self), "indexing")) {
      fail(ErrorKind::BadIndex, "index " + std::to_string(place) +
                                    " is out of range for the tensor " +
                                    describe(tensor_unchecked(self)));
    }
    return get_item(self, checked(PyLong_FromSsize_t(place)).get());
  });
}

PyObject* iterate_tensor(PyObject* self) {
  return enter_from_python([&] {
    require_length(tensor_unchecked(self), "iterating over");
    note_read(self, "the number of rows");
    return PySeqIter_New(self);
  });
}

PyType_Slot sequence_slots[] = {
    {Py_mp_length, slot(tensor_length)},   {Py_mp_subscript, slot(get_item)},
    {Py_mp_ass_subscript, slot(set_item)}, {Py_sq_length, slot(tensor_length)},
    {Py_sq_item, slot(get_place)},         {Py_tp_iter, slot(iterate_tensor)}};

}  // namespace

TypeSlots container_slots() { return sequence_slots; }

}  // namespace opyard::python
