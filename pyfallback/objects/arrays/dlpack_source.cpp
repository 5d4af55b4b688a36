// objects/arrays/dlpack_source.cpp: DLPack import: requesting and unpacking capsules.
#include "objects/arrays/dlpack_source.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "objects/arrays/dlpack_keeper.h"
#include "objects/arrays/foreign_kind.h"
#include "objects/arrays/numpy_types.h"
#include "objects/arrays/package.h"
#include "opyard/detail/python/clear.h"
#include "runtime/require_stack.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

using dlpack::DLManagedTensor;
using dlpack::DLManagedTensorVersioned;

// Until the capsule has its new name it owns the struct; from then on the keeper does.
template <typename Managed>
Tensor take_out_of(Runtime& runtime, PyObject* capsule, bool read_only) {
  auto* const managed =
      static_cast<Managed*>(PyCapsule_GetPointer(capsule, DLPackForm<Managed>::kName));
  Owned keeper = make_keeper(runtime);
  if (PyCapsule_SetName(capsule, DLPackForm<Managed>::kUsed) < 0) throw PythonErrorSet();
  return take_over(std::move(keeper), managed, read_only);
}

std::string text_of_attribute(PyObject* object, const char* name) {
  const Owned value = find_attribute(object, name);
  const Owned text = value ? checked(PyObject_Str(value.get())) : Owned();
  return text ? std::string(require_text(text.get(), name)) : std::string();
}

// A table is C or C++, and what PyTorch's raises has the functions on the stack below its first
// line. Any other exception leaves as itself.
[[noreturn]] OPYARD_COLD void refuse_by_table(PyObject* source, const char* what) {
  if (PyErr_Occurred() != PyExc_RuntimeError) throw PythonErrorSet();
  const Owned exception = Owned::steal(take_exception());
  const Owned said = checked(PyObject_Str(exception.get()));
  const std::string_view text = require_text(said.get(), "a message");
  const std::string device = text_of_attribute(source, "device");
  const std::string layout = text_of_attribute(source, "layout");
  std::string message = what;
  message += "its exchange table raised RuntimeError: ";
  message += text.substr(0, text.find('\n'));
  if (device.starts_with("meta")) {
    message += "; it is on meta, without elements: pass opyard.empty(x.shape, device='meta')";
  } else if (!layout.empty() && !layout.ends_with("strided")) {
    message += "; its layout is " + layout + ": pass x.to_dense()";
  } else {
    message += "; accepted are arrays with strides and elements in memory";
  }
  fail(ErrorKind::BadValue, std::move(message));
}

// Producers from before DLPack 1.0 know no max_version and raise TypeError.
Owned ask_for_capsule(Runtime& runtime, PyObject* source) {
  require_stack();
  const ForeignState& state = *runtime.foreign;
  PyObject* const arguments[] = {source, state.version};
  return checked(in_python([&] {
    PyObject* const capsule =
        PyObject_VectorcallMethod(state.method_name, arguments, 1, state.version_names);
    if (capsule != nullptr || !clear_if(PyExc_TypeError)) return capsule;
    return PyObject_CallMethodNoArgs(source, state.method_name);
  }));
}

}  // namespace

Tensor take_capsule(Runtime& runtime, PyObject* capsule, const char* what, bool read_only) {
  if (PyCapsule_IsValid(capsule, DLPackForm<DLManagedTensorVersioned>::kName) != 0) {
    return take_out_of<DLManagedTensorVersioned>(runtime, capsule, read_only);
  }
  if (PyCapsule_IsValid(capsule, DLPackForm<DLManagedTensor>::kName) != 0) {
    return take_out_of<DLManagedTensor>(runtime, capsule, read_only);
  }
  const char* const name = PyCapsule_GetName(capsule);
  if (name == nullptr) clear_if(PyExc_ValueError);  // a capsule may have no name
  const std::string_view text = name == nullptr ? "" : name;
  if (text == DLPackForm<DLManagedTensor>::kUsed ||
      text == DLPackForm<DLManagedTensorVersioned>::kUsed) {
    fail(ErrorKind::BadValue,
         std::string(what) +
             "the capsule was consumed already; each one is taken in once, so ask its producer for "
             "another");
  }
  fail(ErrorKind::BadArgument,
       std::string(what) + "the capsule is named '" + std::string(text) +
           "'; accepted are capsules named 'dltensor' and 'dltensor_versioned'");
}

Owned ask_method(Runtime& runtime, PyObject* source, const char* what) {
  Owned capsule = ask_for_capsule(runtime, source);
  if (!PyCapsule_CheckExact(capsule.get())) {
    fail(ErrorKind::BadArgument, std::string(what) + "__dlpack__ of " + Py_TYPE(source)->tp_name +
                                     " gave a " + Py_TYPE(capsule.get())->tp_name +
                                     " where a capsule is expected");
  }
  return capsule;
}

Tensor take_from_method(Runtime& runtime, PyObject* source, const char* what) {
  const Owned capsule = ask_method(runtime, source, what);
  return take_capsule(runtime, capsule.get(), what, has_read_only_buffer(source));
}

bool has_read_only_buffer(PyObject* array) {
  // NumPy's capsules say it themselves, and the array of one that does not is asked in vain.
  if (PyObject_CheckBuffer(array) == 0 || is_numpys_own(Py_TYPE(array))) return false;
  require_stack();
  Py_buffer view;
  if (in_python([&] { return PyObject_GetBuffer(array, &view, PyBUF_FULL_RO); }) != 0) {
    if (!clear_if(PyExc_BufferError)) throw PythonErrorSet();
    return false;
  }
  const bool read_only = view.readonly != 0;
  in_python([&] { PyBuffer_Release(&view); });
  return read_only;
}

Tensor as_read_only(Tensor tensor) {
  auto keep = std::make_unique<Tensor>(std::move(tensor));
  const Tensor& held = *keep;
  void* const first = const_cast<void*>(held.raw());
  return Tensor::adopt(
      first, held.sizes(), held.strides(), held.dtype(), held.device(), keep.release(),
      [](void* context) { delete static_cast<Tensor*>(context); }, true);
}

DLManagedTensorVersioned* ask_table(const dlpack::DLPackExchangeAPI& table, PyObject* source,
                                    const char* what) {
  DLManagedTensorVersioned* managed = nullptr;
  const int status =
      in_python([&] { return table.managed_tensor_from_py_object_no_sync(source, &managed); });
  if (status != 0) {
    if (PyErr_Occurred() != nullptr) refuse_by_table(source, what);
    fail(ErrorKind::BadValue, std::string(what) + "its exchange table failed without an exception");
  }
  if (managed == nullptr) {
    fail(ErrorKind::BadValue, std::string(what) + "its exchange table gave no struct");
  }
  return managed;
}

Tensor take_from_table(Runtime& runtime, const dlpack::DLPackExchangeAPI& table, PyObject* source,
                       const char* what) {
  Owned keeper = make_keeper(runtime);
  DLManagedTensorVersioned* const managed = ask_table(table, source, what);
  return take_over(std::move(keeper), managed);
}

Tensor require_forwards(Tensor tensor, const char* what) {
  const IntSpan given = tensor.strides();
  if (__builtin_expect(std::all_of(given.begin(), given.end(), [](auto n) { return n >= 0; }), 1)) {
    return tensor;
  }
  DimVector strides(given);
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (strides[i] >= 0) continue;
    if (tensor.numel() != 0 && tensor.sizes()[i] > 1) {
      fail(ErrorKind::BadValue,
           what + ("the stride of dimension " + std::to_string(i)) + " is " +
               std::to_string(strides[i]) +
               " elements, and tensors on foreign memory have none below zero; copy the array "
               "first, as array.copy() does");
    }
    strides[i] = 1;
  }
  return tensor.as_strided(tensor.sizes(), strides, tensor.storage_offset());
}

}  // namespace opyard::python
