// objects/tensor/numpy_functions.cpp: NumPy's C API table, and arrays made by it.
//
// [Places] The numbers are NumPy's promise to extension modules that were compiled long ago: those
// of numpy/__multiarray_api.h. The first place tells the version of that promise, 1 or 2 in its
// uppermost byte.
#include "objects/tensor/numpy_functions.h"

#include <cstddef>

#include "objects/arrays/foreign_kind.h"
#include "objects/arrays/numpy_types.h"
#include "objects/tensor/tensor.h"
#include "opyard/detail/python/clear.h"
#include "opyard/tensor/resize.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

// See [Places].
constexpr std::size_t kVersion = 0;
constexpr std::size_t kArrayType = 2;
constexpr std::size_t kDescrFromType = 45;
constexpr std::size_t kNewFromDescr = 94;
constexpr std::size_t kSetBaseObject = 282;

using Version = unsigned (*)();
using DescrFromType = PyObject* (*)(int type);
using NewFromDescr = PyObject* (*)(PyTypeObject * type, PyObject* descr, int dims,
                                   const Py_ssize_t* sizes, const Py_ssize_t* strides, void* data,
                                   int flags, PyObject* object);
using SetBaseObject = int (*)(PyObject* array, PyObject* base);

constexpr int kWriteable = 0x0400;
constexpr std::size_t kMostNumpyDims = 32;  // of NumPy 1

template <typename Function>
Function table_function_at(void* const* table, std::size_t place) noexcept {
  return reinterpret_cast<Function>(table[place]);
}

// NumPy's numbers of its types; -1 for a dtype that it does not have.
int number_of(DType dtype) noexcept {
  static_assert(sizeof(int) == 4 && sizeof(long) == 8);
  switch (dtype) {
#define OPYARD_DTYPE(code, name, python, type, dlpack, bits, format, number) \
  case DType::name:                                                          \
    return number;
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
  }
  return -1;
}

// The module's capsule; null if there is none. Throws PythonErrorSet with what is no Exception,
// such as an interrupt.
Owned find_capsule(const char* module) {
  const Owned numpy = Owned::steal(in_python([&] { return PyImport_ImportModule(module); }));
  Owned capsule = numpy ? Owned::steal(PyObject_GetAttrString(numpy.get(), "_ARRAY_API")) : Owned();
  if (!capsule && !clear_if(PyExc_Exception)) throw PythonErrorSet();
  return capsule;
}

OPYARD_COLD void* const* look_for_table() {
  for (const char* module : {"numpy._core._multiarray_umath", "numpy.core._multiarray_umath"}) {
    const Owned capsule = find_capsule(module);
    if (!capsule || PyCapsule_IsValid(capsule.get(), nullptr) == 0) continue;
    auto* const table = static_cast<void* const*>(PyCapsule_GetPointer(capsule.get(), nullptr));
    const unsigned version = table_function_at<Version>(table, kVersion)() >> 24;
    const bool is_known = version == 1 || version == 2;
    if (is_known && is_numpys_own(static_cast<PyTypeObject*>(table[kArrayType]))) return table;
  }
  return nullptr;
}

}  // namespace

Owned find_numpy_array(Runtime& runtime, PyObject* wrapper) {
  ForeignState& state = *runtime.foreign;
  if (__builtin_expect(!state.numpy_looked_for, 0)) {
    state.numpy_functions = look_for_table();
    state.numpy_looked_for = true;
  }
  void* const* const table = state.numpy_functions;
  const Tensor& tensor = tensor_unchecked(wrapper);
  const IntSpan sizes = tensor.sizes();
  const IntSpan strides = tensor.strides();
  void* const data = tensor.impl()->data();
  const int number = number_of(tensor.dtype());
  if (table == nullptr || data == nullptr || number < 0 || sizes.size() > kMostNumpyDims) return {};
  Py_ssize_t in_bytes[kMostNumpyDims];
  const auto item = std::int64_t(item_size(tensor.dtype()));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (__builtin_mul_overflow(strides[i], item, &in_bytes[i])) return {};
  }
  const int flags = tensor.impl()->storage()->read_only() ? 0 : kWriteable;
  PyObject* const descr =
      checked(table_function_at<DescrFromType>(table, kDescrFromType)(number)).release();
  Owned array = checked(table_function_at<NewFromDescr>(table, kNewFromDescr)(
      static_cast<PyTypeObject*>(table[kArrayType]), descr, int(sizes.size()), sizes.data(),
      in_bytes, data, flags, nullptr));
  note_lent(tensor);
  // It takes the reference over, also if it fails.
  if (table_function_at<SetBaseObject>(table, kSetBaseObject)(
          array.get(), Owned::share(wrapper).release()) < 0) {
    throw PythonErrorSet();
  }
  return array;
}

}  // namespace opyard::python
