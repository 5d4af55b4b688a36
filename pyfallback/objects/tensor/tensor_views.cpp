// objects/tensor/tensor_views.cpp: t[index] for ints and slices, without a function in Python.
//
// The commonest indices, t[0], t[0, 1], t[:, 1], t[1:], are worked off here by the calls of
// aten::select, aten::slice and aten::alias that opyard/_tensor/indexing.py would make, in the same
// order, through the dispatcher: modes, classes, gradients and traces see no difference. Whatever
// else an index or a tensor may be is left to that module: t[index] goes there whole, or from the
// item on before which an answer came that is no plain tensor.
#include "objects/tensor/aten.h"

#include <algorithm>
#include <span>

#include "objects/tensor/tensor_parts.h"
#include "objects/tensor/traced_read.h"
#include "objects/values/integer.h"
#include "runtime/hooks.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

bool is_plain_int(PyObject* object) noexcept {
  return PyLong_CheckExact(object) && find_int64(object).has_value();
}

bool is_plain_bound(PyObject* object) noexcept { return object == Py_None || is_plain_int(object); }

const PySliceObject& slice_of(PyObject* item) noexcept {
  return *reinterpret_cast<PySliceObject*>(item);
}

// Steps that are not positive are refused elsewhere.
bool is_plain_item(PyObject* item) noexcept {
  if (!PySlice_Check(item)) return is_plain_int(item);
  const PySliceObject& slice = slice_of(item);
  if (!is_plain_bound(slice.start) || !is_plain_bound(slice.stop)) return false;
  return slice.step == Py_None || (is_plain_int(slice.step) && *find_int64(slice.step) > 0);
}

bool is_whole(PyObject* item) noexcept {
  const PySliceObject& slice = slice_of(item);
  return slice.start == Py_None && slice.stop == Py_None && slice.step == Py_None;
}

// A tensor whose sizes are its own: of no subclass, and none of them symbolic.
bool is_plain_tensor(const Runtime& runtime, PyObject* object) noexcept {
  constexpr std::uint8_t kDefined =
      TensorImpl::kCustomSizes | TensorImpl::kCustomStrides | TensorImpl::kSymbolic;
  return Py_TYPE(object) == runtime.tensor_type &&
         !tensor_unchecked(object).impl()->has_policy(kDefined);
}

Owned select(Runtime& runtime, PyObject* view, Py_ssize_t dim, PyObject* place) {
  const Owned at = checked(PyLong_FromSsize_t(dim));
  return call_aten(runtime, AtenName::select, {view, at.get(), place});
}

// The view itself if the slice is all of the dimension.
Owned slice(Runtime& runtime, PyObject* view, Py_ssize_t dim, PyObject* item) {
  const Py_ssize_t size = tensor_unchecked(view).sizes()[std::size_t(dim)];
  Py_ssize_t start = 0;
  Py_ssize_t stop = 0;
  Py_ssize_t step = 0;
  if (PySlice_Unpack(item, &start, &stop, &step) < 0) throw PythonErrorSet();
  PySlice_AdjustIndices(size, &start, &stop, step);
  if (start == 0 && stop == size && step == 1) return Owned::share(view);
  const Owned at = checked(PyLong_FromSsize_t(dim));
  const Owned first = checked(PyLong_FromSsize_t(start));
  const Owned last = checked(PyLong_FromSsize_t(stop));
  const Owned by = checked(PyLong_FromSsize_t(std::min(step, std::max<Py_ssize_t>(size, 1))));
  return call_aten(runtime, AtenName::slice, {view, at.get(), first.get(), last.get(), by.get()});
}

// What is left of an index, by the package.
Owned get_part(Runtime& runtime, PyObject* view, std::span<PyObject* const> left, Py_ssize_t dim) {
  const Owned items = checked(PyTuple_New(Py_ssize_t(left.size())));
  for (std::size_t i = 0; i < left.size(); ++i) {
    PyTuple_SET_ITEM(items.get(), Py_ssize_t(i), Owned::share(left[i]).release());
  }
  const Owned at = checked(PyLong_FromSsize_t(dim));
  const Owned get = Owned::share(require_hook(runtime, hook::get_part));
  return checked(PyObject_CallFunctionObjArgs(get.get(), view, items.get(), at.get(), nullptr));
}

}  // namespace

Owned find_item_by_views(PyObject* self, PyObject* index) {
  Runtime& runtime = runtime_of_tensor(self);
  if (is_tracing_calls() || !is_plain_tensor(runtime, self)) return {};
  const Owned held = Owned::share(index);
  const std::span<PyObject* const> items =
      PyTuple_CheckExact(index) ? std::span<PyObject* const>(PySequence_Fast_ITEMS(index),
                                                             std::size_t(PyTuple_GET_SIZE(index)))
                                : std::span<PyObject* const>(&index, 1);
  if (std::int64_t(items.size()) > tensor_unchecked(self).dim()) return {};
  for (PyObject* const item : items) {
    if (!is_plain_item(item)) return {};
  }
  Owned view = Owned::share(self);
  Py_ssize_t dim = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    PyObject* const item = items[i];
    if (PyLong_CheckExact(item)) {
      view = select(runtime, view.get(), dim, item);
      continue;
    }
    if (!is_whole(item)) {
      if (!is_plain_tensor(runtime, view.get())) {
        return get_part(runtime, view.get(), items.subspan(i), dim);
      }
      view = slice(runtime, view.get(), dim, item);
    }
    ++dim;
  }
  if (view.get() == self) return call_aten(runtime, AtenName::alias, {self});
  return view;
}

}  // namespace opyard::python
