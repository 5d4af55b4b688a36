// objects/arrays/beyond_memory.h: gradients, conjugation and versions of foreign arrays.
//
// The ways of objects/arrays/foreign_array.h hand out memory, and say nothing of what PyTorch's
// tensors carry besides: that a gradient is required, that the elements are meant conjugated or
// negated, and how often they were written. So each array of a type that can answer is asked, by
// attributes and methods that are looked up once a type:
//
//   question             asked of elements       if it says yes
//   requires_grad        float, complex          refused while the library's is_grad_enabled() says so
//   is_conj()            complex                 read: a copy by resolve_conj(); written: refused
//   is_neg()             all but bool            the same by resolve_neg()
//
// and each array that is written to has its writes counted before the call, by the library's
// autograd.graph.increment_version(). The library is the package of the class that defines the
// first question.
//
// [Cost] An attribute or method that a type implements in C is called without a look-up and without
// a frame; what one costs for a tensor of PyTorch is in docs/dev/performance.md. A method may let
// go of the GIL for a while.
//
// Everything with the GIL held.
//
// Depends on: runtime/{runtime,errors}.h, tensor/dtype.h.
#pragma once

#include "runtime/runtime.h"

#include <cstdint>

#include "opyard/detail/python/exit.h"
#include "opyard/tensor/dtype.h"
#include "runtime/errors.h"

namespace opyard::python {

// A question to an array that is answered by True or False. Asked inside of in_python().
class Question {
 public:
  constexpr Question() noexcept = default;
  // `ask` gives a new reference, or null with an exception set.
  constexpr Question(getter ask, void* how) noexcept : ask_(ask), how_(how) {}
  explicit operator bool() const noexcept { return ask_ != nullptr; }
  bool operator==(const Question&) const noexcept = default;
  // Throws PythonErrorSet. False if there is no such question.
  bool operator()(PyObject* array) const {
    if (ask_ == nullptr) return false;
    PyObject* const answer = ask_(array, how_);
    if (__builtin_expect(answer != Py_False, 0)) return judge(answer);
    Py_DECREF(answer);
    return false;
  }

 private:
  // Takes the answer over.
  OPYARD_COLD static bool judge(PyObject* answer);

  getter ask_ = nullptr;
  void* how_ = nullptr;  // borrowed from the type, whose version vouches for it
};

// What a package with gradients offers. Held until the module ends, as packages mostly are.
struct GradientLibrary {
  Owned package;
  Owned is_grad_enabled;    // or null: gradients are always enabled
  Owned increment_version;  // or null: no one counts writes
  GradientLibrary* older = nullptr;
};

// What arrays of some types can be asked: types that answer in the same way have the same one,
// which is held, too.
struct BeyondMemory {
  Question requires_grad;
  Question is_conj;
  Question is_neg;
  const GradientLibrary* library = nullptr;
  const BeyondMemory* older = nullptr;
};

// Looks at a type; null if there is nothing to ask. Throws PythonErrorSet.
const BeyondMemory* find_beyond_memory(Runtime& runtime, PyTypeObject* type);

// Whether gradients are enabled now, asked at most once a call.
class GradMode {
 public:
  // Throws PythonErrorSet.
  bool is_on(const GradientLibrary& library) {
    if (known_ != &library) ask(library);
    return on_;
  }
  // Whether it is known to be off.
  bool is_off(const GradientLibrary& library) const noexcept { return !on_ && known_ == &library; }

 private:
  void ask(const GradientLibrary& library);
  const GradientLibrary* known_ = nullptr;
  bool on_ = true;
};

// Whether an array is what its memory says. Throws PythonErrorSet.
inline bool is_only_memory(const BeyondMemory& beyond, PyObject* array, DType dtype,
                           GradMode& mode) {
  const GradientLibrary& library = *beyond.library;
  return in_python([&] {
    if (!is_integral(dtype) && dtype != DType::Bool && !mode.is_off(library) &&
        beyond.requires_grad(array) && mode.is_on(library)) {
      return false;
    }
    if (is_complex(dtype) && beyond.is_conj(array)) return false;
    return dtype == DType::Bool || !beyond.is_neg(array);
  });
}

// The copy that is read in place of an array; null for the array itself. Raises BadValue for what
// is refused, without naming the argument. Throws PythonErrorSet.
Owned resolve(const BeyondMemory* beyond, PyObject* array, bool written, GradMode& mode);

// Before an array is written to. Throws PythonErrorSet.
void count_write(const BeyondMemory* beyond, PyObject* array);

// Where the array's first element is in the memory of its library, in elements. Throws
// PythonErrorSet.
std::int64_t storage_offset_of(const BeyondMemory* beyond, PyObject* array);

// Forgets all of it. When the module ends; nothing is known of any type then.
void drop_beyond_memory(Runtime& runtime) noexcept;

}  // namespace opyard::python
