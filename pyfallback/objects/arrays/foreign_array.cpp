// objects/arrays/foreign_array.cpp: one array of another library as a tensor.
//
// The path: the protocols of its type (objects/arrays/foreign_kind.h), a copy if it is more than
// memory (beyond_memory.cpp), the export (exported_array.cpp) of what the array hands out
// (dlpack_source.cpp, buffer_source.cpp).
#include "objects/arrays/foreign_array.h"

#include "objects/arrays/dlpack_source.h"
#include "objects/arrays/exported_array.h"
#include "objects/arrays/foreign_kind.h"
#include "opyard/detail/python/clear.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

// What to do about an array of elements that no dtype is for, such as objects of Python; else "".
std::string advice_for_elements(Runtime& runtime, PyObject* array) {
  const Owned dtype = Owned::steal(PyObject_GetAttrString(array, "dtype"));
  const Owned text = Owned::steal(dtype ? PyObject_Str(dtype.get()) : nullptr);
  if (!text) {
    if (!clear_if(PyExc_Exception)) throw_python_error(runtime);
    return "";
  }
  const std::string name(require_text(text.get(), "a dtype"));
  if (find_dtype(name).has_value()) return "";
  return " Its dtype is " + name +
         ", for which there is none here; convert it first, as array.astype(float) does";
}

// The exception that a producer raised, as what prevents a conversion: a BufferError
// says that. Any other leaves as itself.
[[noreturn]] OPYARD_COLD void refuse_by_exception(Runtime& runtime, const char* whose,
                                                  PyObject* array) {
  if (PyErr_ExceptionMatches(PyExc_BufferError) == 0) throw_python_error(runtime);
  const Owned exception = Owned::steal(take_exception());
  const Owned text = require(runtime, PyObject_Str(exception.get()));
  std::string said(require_text(text.get(), "a message"));
  const std::string advice = advice_for_elements(runtime, array);
  if (!advice.empty() && !said.ends_with('.')) said += '.';
  throw RefusedArray(
      Error(ErrorKind::BadValue, std::string(whose) + " raised BufferError: " + said + advice));
}

}  // namespace

ExportedOrTaken take_or_refuse(Runtime& runtime, const ForeignKind& kind, PyObject* object) {
  try {
    ExportedOrTaken taken = kind.take(runtime, kind, object);
    if (taken.exported == nullptr) taken.tensor = require_forwards(std::move(taken.tensor), "");
    return taken;
  } catch (const PythonErrorSet&) {
    refuse_by_exception(runtime, name_of(kind.way), object);
  } catch (const RefusedArray&) {
    throw;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Python) throw;
    throw RefusedArray(error);
  }
}

Tensor settle(ExportedOrTaken&& taken) {
  if (taken.exported == nullptr) return std::move(taken.tensor);
  Tensor tensor(CountedPtr<TensorImpl>::share(&taken.exported->tensor.tensor()));
  taken.exported->hold_array(false);
  end_export(*taken.exported);
  return tensor;
}

Owned copy_or_refuse(Runtime& runtime, const ForeignKind& kind, PyObject* object, bool written,
                     GradMode& mode) {
  if (__builtin_expect(kind.beyond == nullptr, 1)) return {};
  try {
    return resolve(kind.beyond, object, written, mode);
  } catch (const PythonErrorSet&) {
    throw_python_error(runtime);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Python) throw;
    throw RefusedArray(error);
  }
}

bool is_foreign_array(Runtime& runtime, PyObject* object) {
  return foreign_kind_of(runtime, Py_TYPE(object)).way != ForeignWay::None;
}

bool to_foreign_tensor(Runtime& runtime, PyObject* object, ForeignArguments* arguments,
                       Value& value) {
  if (arguments != nullptr) {
    TensorImpl* const tensor = arguments->convert(runtime, object);
    if (tensor != nullptr) value = Tensor(CountedPtr<TensorImpl>::share(tensor));
    return tensor != nullptr;
  }
  const ForeignKind kind = foreign_kind_of(runtime, Py_TYPE(object));
  if (kind.way == ForeignWay::None) return false;
  GradMode mode;
  const Owned copy = copy_or_refuse(runtime, kind, object, false, mode);
  PyObject* const array = copy ? copy.get() : object;
  value = settle(take_or_refuse(runtime, foreign_kind_of(runtime, Py_TYPE(array)), array));
  return true;
}

}  // namespace opyard::python
