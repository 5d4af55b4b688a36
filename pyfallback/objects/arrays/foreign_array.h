// objects/arrays/foreign_array.h: arrays of other libraries as arguments and results of operators.
//
// An array comes in by the first way that its type offers: the exchange table of DLPack, __dlpack__, the buffer
// protocol. No memory is copied; it is given back when the last tensor on it is gone. For the length of a call plain arrays are
// only lent, see objects/arrays/lent_array.h. Numbers are no arrays, also those of NumPy that have a buffer.
//
// Tensors of a call's result go out as arrays of the type of the first array that came in:
//
//   numpy.ndarray and subclasses   numpy.ndarray
//   types with an exchange table   what the table makes
//   types whose __array_namespace__ or package has a from_dlpack   what that makes
//   others, such as memoryview     Tensor
//   numpy.ma.MaskedArray           refused: its mask would be lost
//
// Tensors in lists, tuples and dicts are too, at any depth that the schema says. A result that is an argument of the call is given back as the object that came in. An instance of a subclass of Tensor, and a
// tensor that the other library cannot hold, stay what they are.
//
// Everything with the GIL held. What is known of types is kept, see objects/arrays/foreign_state.h.
//
// Depends on: objects/convert/convert.h.
#pragma once

#include "runtime/runtime.h"

#include <span>
#include <string>

#include "objects/convert/convert.h"
#include "opyard/base/small_vector.h"
#include "opyard/schema/schema.h"
#include "opyard/tensor/tensor.h"

namespace opyard::python {

struct ForeignKind;
struct LentArray;

// What to_value() throws for an array that a tensor cannot stand for. The text does not name the argument.
struct RefusedArray : NamesNothing {
  explicit RefusedArray(const Error& error) noexcept : NamesNothing(error) {}
  std::string place{};  // of the array in the object, as "[1]"; empty for the object itself
  std::string type{};   // its type, where it is inside of the object
};

// The arrays among the arguments of one call, from binding to result.
class ForeignArguments {
 public:
  // The objects that were given, which outlive this.
  ForeignArguments(PyObject* const* given, Py_ssize_t count, PyObject* names) noexcept
      : given_(given), count_(count), names_(names) {}
  ForeignArguments(const ForeignArguments&) = delete;
  ForeignArguments& operator=(const ForeignArguments&) = delete;
  ~ForeignArguments() {
    if (__builtin_expect(!items_.empty(), 0)) drop();
  }

  // Another candidate is bound: what former ones took for an array may be none to it.
  void begin() noexcept { first_ = nullptr; }
  // Whether the candidate that was bound last takes no array.
  bool empty() const noexcept { return first_ == nullptr; }
  // The argument that is bound now is written to.
  void set_written(bool written) noexcept { written_ = written; }
  bool written() const noexcept { return written_; }

  // The tensor that stands for an array which is not written to and can be lent as it is (objects/arrays/lent_array.h), where its
  // type is known and it is given for the first time; null for all else, and nothing was done.
  TensorImpl* lend_of_known_type(Runtime& runtime, PyObject* object);

  // The tensor that stands for an array, kept here; null for an object that is none. Throws as to_foreign_tensor()
  // does.
  TensorImpl* convert(Runtime& runtime, PyObject* object);

  // A result as a Python object; for a call with arrays. See the head.
  Owned give_back(Runtime& runtime, const Type& type, const Value& result) const;

 private:
  struct Item {
    PyObject* object;
    TensorImpl* tensor;
    LentArray* loan;  // that the tensor belongs to, else null
  };
  TensorImpl* find(PyObject* object) const noexcept;
  void drop() noexcept;
  PyObject* find_argument(Runtime& runtime, const Tensor& tensor) const;
  Owned give_back(Runtime& runtime, const ForeignKind& kind, const Tensor& tensor) const;
  Owned give_back_list(Runtime& runtime, const Type& element, const Value& list) const;
  Owned give_back_tuple(Runtime& runtime, const Type& type, const Value& tuple) const;
  Owned give_back_dict(Runtime& runtime, const Type& type, const Value& value) const;

  PyObject* const* const given_;
  const Py_ssize_t count_;
  PyObject* const names_;
  bool written_ = false;
  PyObject* first_ = nullptr;   // of the arrays in the order of the schema; borrowed from items_
  SmallVector<Item, 4> items_;  // owners of both
};

// Whether an object is an array of another library.
bool is_foreign_array(Runtime& runtime, PyObject* object);

// Converts such an array to a tensor; false for any other object. `arguments` notes it, and may be null. Throws
// RefusedArray, and what the conversion itself raises.
bool to_foreign_tensor(Runtime& runtime, PyObject* object, ForeignArguments* arguments,
                       Value& value);

// Makes the state of the interpreter. Throws PythonErrorSet.
void prepare_foreign_arrays(Runtime& runtime);

}  // namespace opyard::python
