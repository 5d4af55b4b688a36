// objects/convert/foreign_results.cpp: tensors as arrays of the library that the arguments came from.
#include "objects/convert/foreign_results.h"

#include "objects/arrays/foreign_kind.h"
#include "objects/arrays/package.h"
#include "objects/convert/convert.h"
#include "objects/tensor/tensor.h"
#include "objects/tensor/tensor_parts.h"
#include "runtime/require_stack.h"
#include "runtime/types.h"

#include <algorithm>

#include "opyard/detail/registry/gradient_slot.h"
#include "opyard/detail/tensor/gradient_functions.h"
#include "opyard/detail/value/dict_object.h"

namespace opyard::python {
namespace {

// Whether the attribute is there and is not None.
bool is_given(const Owned& attribute) { return attribute && attribute.get() != Py_None; }

// The function from_dlpack of the library that an array belongs to, or null.
Owned find_from_dlpack(PyObject* array) {
  require_stack();
  Owned library;
  if (const Owned ask = find_attribute(array, "__array_namespace__"); is_given(ask)) {
    library = checked(in_python([&] { return PyObject_CallNoArgs(ask.get()); }));
  } else {
    library = find_package(reinterpret_cast<PyObject*>(Py_TYPE(array)));
  }
  if (!library) return {};
  Owned from_dlpack = find_attribute(library.get(), "from_dlpack");
  return is_given(from_dlpack) ? std::move(from_dlpack) : Owned();
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

// Whether tensors are in values of a type, at any depth.
bool has_tensors(const Type& type) {
  if (type.kind() == TypeKind::Tensor) return true;
  if (type.kind() == TypeKind::Dict) return has_tensors(*type.elements()[1]);
  if (type.kind() != TypeKind::Optional && type.kind() != TypeKind::List &&
      type.kind() != TypeKind::Tuple) {
    return false;
  }
  return std::any_of(type.elements().begin(), type.elements().end(),
                     [](const TypePtr& element) { return has_tensors(*element); });
}

// The tensor in an argument, itself or inside of lists, tuples and dicts, for which `is_it` holds;
// null without one.
template <typename Predicate>
PyObject* find_in(PyObject* object, const Predicate& is_it, int depth = 0) {
  constexpr int kDeepest = 4;  // an argument of the type Any may hold itself
  if (is_it(object)) return object;
  if (depth == kDeepest) return nullptr;
  if (PyList_Check(object) || PyTuple_Check(object)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
      PyObject* const found = find_in(PySequence_Fast_GET_ITEM(object, i), is_it, depth + 1);
      if (found != nullptr) return found;
    }
  } else if (PyDict_Check(object)) {
    PyObject* item = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(object, &at, nullptr, &item) != 0;) {
      PyObject* const found = find_in(item, is_it, depth + 1);
      if (found != nullptr) return found;
    }
  }
  return nullptr;
}

// Whether it has a history, which no array of another library has.
bool has_history(const Tensor& tensor) {
  if (__builtin_expect(!detail::may_need_gradient(*tensor.impl()), 1)) return false;
  const auto* const functions = detail::gradient_functions.load(std::memory_order_acquire);
  return functions != nullptr && functions->needs(tensor);
}

// Whether a tensor has memory that others can read, no object of a class of its own, and no
// history.
bool is_exportable(Runtime& runtime, const Tensor& tensor) {
  if (!tensor.device().is_cpu() || tensor.keys().has(DispatchKey::Python)) return false;
  if (has_history(tensor)) return false;
  return tensor.impl()->object_link().object(runtime.tag) == nullptr ||
         Py_TYPE(wrap(runtime, tensor).get()) == runtime.tensor_type;
}

// The argument that a tensor is, as it was given: an array, or a tensor of ours; null if it is
// none.
PyObject* find_argument(Runtime& runtime, const ForeignArguments& arguments, const Tensor& tensor) {
  if (tensor.impl()->owner_count() == 1) return nullptr;  // ours here
  if (PyObject* const array = arguments.find_array(tensor.impl().get())) return array;
  const auto is_it = [&](PyObject* object) {
    return is_tensor(runtime, object) && tensor_unchecked(object).same(tensor);
  };
  for (PyObject* const given : arguments.given().all()) {
    if (PyObject* const found = find_in(given, is_it)) return found;
  }
  return nullptr;
}

Owned give_tensor(Runtime& runtime, const ForeignArguments& arguments, const ForeignKind& kind,
                  const Tensor& tensor) {
  if (!tensor.defined()) return Owned::share(Py_None);
  if (PyObject* const argument = find_argument(runtime, arguments, tensor)) {
    return Owned::share(argument);
  }
  if (kind.result == ForeignReturn::Tensor || !is_exportable(runtime, tensor)) {
    return wrap(runtime, tensor);
  }
  if (kind.result == ForeignReturn::Table) return to_table(*kind.table, tensor);
  Owned wrapper = wrap(runtime, tensor);
  if (kind.result == ForeignReturn::NumPy) {
    return has_buffer_format(tensor) ? to_array(wrapper.get()) : std::move(wrapper);
  }
  const Owned from_dlpack = find_from_dlpack(arguments.first());
  if (!from_dlpack) return wrapper;
  return checked(in_python([&] { return PyObject_CallOneArg(from_dlpack.get(), wrapper.get()); }));
}

Owned give_list(Runtime& runtime, const ForeignArguments& arguments, const Type& element,
                const Value& list) {
  const std::vector<Value>& items = list.items_unchecked();
  Owned made = checked(PyList_New(Py_ssize_t(items.size())));
  for (std::size_t i = 0; i < items.size(); ++i) {
    PyList_SET_ITEM(made.get(), Py_ssize_t(i),
                    give_back(runtime, arguments, element, items[i]).release());
  }
  return made;
}

Owned give_tuple(Runtime& runtime, const ForeignArguments& arguments, const Type& type,
                 const Value& tuple) {
  const std::vector<Value>& items = tuple.items_unchecked();
  Owned made = checked(PyTuple_New(Py_ssize_t(items.size())));
  for (std::size_t i = 0; i < items.size(); ++i) {
    PyTuple_SET_ITEM(made.get(), Py_ssize_t(i),
                     give_back(runtime, arguments, *type.elements()[i], items[i]).release());
  }
  return made;
}

Owned give_dict(Runtime& runtime, const ForeignArguments& arguments, const Type& type,
                const Value& value) {
  Owned made = checked(PyDict_New());
  const DictObject& from = value.to_dict();
  for (std::size_t at = from.next(0); at != DictObject::kEnd; at = from.next(at + 1)) {
    const Owned key = to_python(runtime, *type.elements()[0], from.key_at(at));
    const Owned element = give_back(runtime, arguments, *type.elements()[1], from.value_at(at));
    if (PyDict_SetItem(made.get(), key.get(), element.get()) != 0) throw_python_error(runtime);
  }
  return made;
}

}  // namespace

Owned give_back(Runtime& runtime, const ForeignArguments& arguments, const Type& type,
                const Value& result) {
  if (result.is_tensor()) {
    return give_tensor(runtime, arguments, foreign_kind_of(runtime, Py_TYPE(arguments.first())),
                       result.tensor_unchecked());
  }
  if (!result.is_none() && has_tensors(type)) {
    const TypeKind kind = type.kind();
    if (kind == TypeKind::Optional) return give_back(runtime, arguments, type.element(), result);
    if (kind == TypeKind::List && result.is_list()) {
      return give_list(runtime, arguments, type.element(), result);
    }
    if (kind == TypeKind::Tuple && result.is_tuple() &&
        result.items_unchecked().size() == type.elements().size()) {
      return give_tuple(runtime, arguments, type, result);
    }
    if (kind == TypeKind::Dict && result.is_dict()) {
      return give_dict(runtime, arguments, type, result);
    }
  }
  return to_python(runtime, type, result);
}

}  // namespace opyard::python
