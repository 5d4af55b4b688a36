// objects/foreign_results.cpp: tensors as arrays of the library that the arguments came from.
#include "objects/foreign_array.h"
#include "objects/foreign_state.h"
#include "objects/tensor.h"
#include "objects/tensor_parts.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

// The attribute, or null where there is none.
Owned find_attribute(PyObject* object, const char* name) {
  Owned found = Owned::steal(PyObject_GetAttrString(object, name));
  if (!found && PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw PythonErrorSet();
  PyErr_Clear();
  return found;
}

// The package that a type's module belongs to, where it was imported.
Owned find_package(PyTypeObject* type) {
  const Owned module = find_attribute(reinterpret_cast<PyObject*>(type), "__module__");
  if (!module || !PyUnicode_Check(module.get())) return {};
  const std::string_view full = require_text(module.get(), "the name of a module");
  const Owned name = to_text(full.substr(0, full.find('.')));
  Owned package = Owned::share(PyDict_GetItemWithError(PyImport_GetModuleDict(), name.get()));
  if (!package && PyErr_Occurred() != nullptr) throw PythonErrorSet();
  return package;
}

// The function from_dlpack of the library that an array belongs to, or null.
Owned find_from_dlpack(PyObject* array) {
  Owned library;
  if (const Owned ask = find_attribute(array, "__array_namespace__")) {
    library = checked(in_python([&] { return PyObject_CallNoArgs(ask.get()); }));
  } else {
    library = find_package(Py_TYPE(array));
  }
  return library ? find_attribute(library.get(), "from_dlpack") : Owned();
}

Owned to_table(const dlpack::DLPackExchangeAPI& table, const Tensor& tensor) {
  dlpack::DLManagedTensorVersioned* const managed = to_dlpack_versioned(tensor);
  void* array = nullptr;
  const int status =
      in_python([&] { return table.managed_tensor_to_py_object_no_sync(managed, &array); });
  if (status == 0 && array != nullptr) return Owned::steal(static_cast<PyObject*>(array));
  if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
  fail(ErrorKind::Internal,
       "the exchange table that a result is to go through made no array of " + describe(tensor));
}

bool is_list_of_tensors(const Type& type) {
  if (type.kind() == TypeKind::Optional) return is_list_of_tensors(type.element());
  if (type.kind() != TypeKind::List) return false;
  const Type& element = type.element();
  return element.kind() == TypeKind::Tensor ||
         (element.kind() == TypeKind::Optional && element.element().kind() == TypeKind::Tensor);
}

// Whether a tensor has memory that others can read, and no object of a class of its own.
bool is_plain(Runtime& runtime, const Tensor& tensor) {
  if (!tensor.device().is_cpu() || tensor.keys().has(DispatchKey::Python)) return false;
  return tensor.impl()->object_slot().object(runtime.tag) == nullptr ||
         Py_TYPE(wrap(runtime, tensor).get()) == runtime.tensor_type;
}

}  // namespace

// The argument that a tensor is, as it was given: an array, or a tensor of ours; null where it is none.
PyObject* ForeignArguments::find_argument(Runtime& runtime, const Tensor& tensor) const {
  if (tensor.impl()->owner_count() == 1) return nullptr;  // ours here
  for (const Item& item : items_) {
    if (item.tensor == tensor.impl().get()) return item.object;
  }
  const Py_ssize_t all = count_ + (names_ == nullptr ? 0 : PyTuple_GET_SIZE(names_));
  const auto is_it = [&](PyObject* object) {
    return is_tensor(runtime, object) && tensor_unchecked(object).same(tensor);
  };
  for (Py_ssize_t i = 0; i < all; ++i) {
    if (is_it(given_[i])) return given_[i];
    if (!PyList_Check(given_[i]) && !PyTuple_Check(given_[i])) continue;
    for (Py_ssize_t j = 0; j < PySequence_Fast_GET_SIZE(given_[i]); ++j) {
      PyObject* const item = PySequence_Fast_GET_ITEM(given_[i], j);
      if (is_it(item)) return item;
    }
  }
  return nullptr;
}

Owned ForeignArguments::give_back(Runtime& runtime, const ForeignKind& kind,
                                  const Tensor& tensor) const {
  if (!tensor.defined()) return Owned::share(Py_None);
  if (PyObject* const argument = find_argument(runtime, tensor)) return Owned::share(argument);
  if (kind.result == ForeignReturn::Tensor || !is_plain(runtime, tensor)) {
    return wrap(runtime, tensor);
  }
  if (kind.result == ForeignReturn::Table) return to_table(*kind.table, tensor);
  Owned wrapper = wrap(runtime, tensor);
  if (kind.result == ForeignReturn::NumPy) {
    return has_buffer_format(tensor) ? to_array(wrapper.get()) : std::move(wrapper);
  }
  const Owned from_dlpack = find_from_dlpack(first_);
  if (!from_dlpack) return wrapper;
  return checked(in_python([&] { return PyObject_CallOneArg(from_dlpack.get(), wrapper.get()); }));
}

Owned ForeignArguments::give_back_items(Runtime& runtime, const Value& list) const {
  const ForeignKind kind = foreign_kind_of(runtime, Py_TYPE(first_));
  const std::vector<Value>& items = list.items_unchecked();
  Owned made = checked(PyList_New(Py_ssize_t(items.size())));
  for (std::size_t i = 0; i < items.size(); ++i) {
    Owned item = items[i].is_tensor() ? give_back(runtime, kind, items[i].tensor_unchecked())
                                      : Owned::share(Py_None);
    PyList_SET_ITEM(made.get(), Py_ssize_t(i), item.release());
  }
  return made;
}

Owned ForeignArguments::give_back(Runtime& runtime, const Type& type, const Value& result) const {
  if (result.is_tensor()) {
    return give_back(runtime, foreign_kind_of(runtime, Py_TYPE(first_)), result.tensor_unchecked());
  }
  if (result.is_list() && is_list_of_tensors(type)) return give_back_items(runtime, result);
  return to_python(runtime, type, result);
}

}  // namespace opyard::python
