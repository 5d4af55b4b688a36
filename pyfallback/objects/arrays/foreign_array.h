// objects/arrays/foreign_array.h: arrays of other libraries as arguments and results of operators.
//
// An array comes in by the first way that its type offers: the exchange table of DLPack,
// __dlpack__, the buffer protocol. No memory is copied; it is given back when the last tensor on it
// is gone. For the length of a call plain arrays are only exported, see
// objects/arrays/exported_array.h. Numbers are no arrays, also those of NumPy that have a buffer.
//
// How results go out as arrays is in objects/convert/foreign_results.h.
//
// Everything with the GIL held. What is known of types is cached: objects/arrays/foreign_kind.h.
//
// Depends on: objects/values/refusals.h, schema/schema.h, tensor/tensor.h, value/stack.h.
#pragma once

#include "runtime/runtime.h"

#include "objects/arrays/beyond_memory.h"
#include "objects/arrays/given_arguments.h"
#include "objects/values/refusals.h"
#include "opyard/detail/base/small_vector.h"
#include "opyard/schema/schema.h"
#include "opyard/tensor/tensor.h"
#include "opyard/value/stack.h"

namespace opyard::python {

struct ForeignKind;
struct ExportedArray;
struct ExportedOrTaken;

// The arrays among the arguments of one call, from binding to result.
class ForeignArguments {
 public:
  // The objects that were given outlive this.
  explicit ForeignArguments(const GivenArguments& given) noexcept : given_(given) {}
  ForeignArguments(const ForeignArguments&) = delete;
  ForeignArguments& operator=(const ForeignArguments&) = delete;
  ~ForeignArguments() {
    if (__builtin_expect(!items_.empty(), 0)) drop();
  }

  // Another candidate is bound: what former ones took for an array may be none to it.
  void begin() noexcept {
    first_ = nullptr;
    if (__builtin_expect(any_written_, 0)) forget_writes();
  }
  // Whether the candidate that was bound last takes no array.
  bool empty() const noexcept { return first_ == nullptr; }
  // The argument that is bound now is written to.
  void set_written(bool written) noexcept { written_ = written; }
  bool written() const noexcept { return written_; }
  // What is called may use its arguments on other threads once it has returned: each array gets an
  // owner now. Not asked by export_of_known_type().
  void set_outlives_call(bool outlives) noexcept { outlives_call_ = outlives; }

  // The tensor that stands for an array which is not written to and can be exported as it is
  // (objects/arrays/exported_array.h), where its type is known and it is given for the first time;
  // null for all else, and nothing was done.
  TensorImpl* export_of_known_type(Runtime& runtime, PyObject* object);

  // The tensor that stands for an array, held here; null for an object that is none. Throws as
  // to_foreign_tensor() does.
  TensorImpl* convert(Runtime& runtime, PyObject* object);

  // Code of Python's may have run, or is about to: what was exported so far is looked at again
  // before the call.
  void expect_code() noexcept { code_ran_ |= !items_.empty(); }

  // Everything is bound, and the operator is called next: counts the writes
  // (objects/arrays/beyond_memory.h). Raises BadValue, naming the operator, if an array has other
  // memory than when it was bound. Throws PythonErrorSet.
  void before_call(Runtime& runtime, const std::string& op) {
    if (__builtin_expect(code_ran_ || any_written_, 0)) finish_conversion(runtime, op);
  }

  // Where the first element of an array that was bound is in the memory of its library. Throws
  // PythonErrorSet.
  std::int64_t storage_offset_of(Runtime& runtime, const TensorImpl& tensor) const;

  // For giving results back (objects/convert/foreign_results.h), of a call with arrays.
  PyObject* first() const noexcept { return first_; }
  // The array that this tensor stands for; null if none does.
  PyObject* find_array(const TensorImpl* tensor) const noexcept;
  const GivenArguments& given() const noexcept { return given_; }

 private:
  struct Item {
    PyObject* object;
    TensorImpl* tensor;
    ExportedArray* exported;  // that the tensor belongs to, else null
    bool
        is_copy;  // the tensor is on a copy (objects/arrays/beyond_memory.h), and the object is held here
    bool is_written;
  };
  Item* find(PyObject* object) noexcept;
  Item& take(Runtime& runtime, const ForeignKind& kind, PyObject* object);
  OPYARD_COLD void forget_writes() noexcept;
  OPYARD_COLD void finish_conversion(Runtime& runtime, const std::string& op);
  void drop() noexcept;

  const GivenArguments given_;
  bool written_ = false;
  bool any_written_ = false;
  bool code_ran_ = false;
  bool outlives_call_ = false;
  GradMode grad_mode_;
  PyObject* first_ = nullptr;   // of the arrays in the order of the schema; borrowed from items_
  SmallVector<Item, 4> items_;  // owners of both
};

// Pushes the tensor of an array that the arguments of a call hold.
inline void borrow_to(Stack& stack, TensorImpl* array) {
  Tensor borrowed(CountedPtr<TensorImpl>::steal(array));
  stack.borrow(borrowed);
  static_cast<void>(borrowed.release_impl());
}

// Whether an object is an array of another library.
bool is_foreign_array(Runtime& runtime, PyObject* object);

// Converts such an array to a tensor; false for any other object. `arguments` notes it, and may be
// null. Throws RefusedArray, and what the conversion itself raises.
bool to_foreign_tensor(Runtime& runtime, PyObject* object, ForeignArguments* arguments,
                       Value& value);

// An array of this kind as a tensor that owns what it needs: the export of a struct, or a tensor as
// from_dlpack() makes it. Throws as to_value() does, from within a call of C++ as well.
ExportedOrTaken take_or_refuse(Runtime& runtime, const ForeignKind& kind, PyObject* object);

// The same as a tensor of its own, which outlives the call.
Tensor settle(ExportedOrTaken&& taken);

// The copy that is read in place of an array that is more than memory, or null; see
// objects/arrays/beyond_memory.h. Throws likewise.
Owned copy_or_refuse(Runtime& runtime, const ForeignKind& kind, PyObject* object, bool written,
                     GradMode& mode);

}  // namespace opyard::python
