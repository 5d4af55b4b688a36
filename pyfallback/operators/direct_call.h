// operators/direct_call.h: direct calls: arguments passed without the stack.
//
// A call from Python need not go through the stack where its arguments are ready: where an object
// is what the boxed route would make of it. Then
//   - a kernel in Python gets the caller's own array, and its result is the result;
//   - handlers of modes and classes get the caller's own objects likewise;
//   - a kernel in C++ gets references into the tensors' wrappers; see operators/cpp_calls.cpp.
// In all other cases, such as a list, an argument that equals its default, an unknown name, a layer
// in between, try_call() does nothing and the call is made through the stack. Both ways give the
// same results and errors.
//
// What can be known of the operator is found when its Python object is made.
//
// Depends on: operators/cpp_calls.h, operators/python_function.h, objects/tensor/tensor.h.
#pragma once

#include "runtime/runtime.h"

#include <typeinfo>
#include <vector>

#include "operators/cpp_calls.h"
#include "operators/python_function.h"
#include "opyard/detail/schema/declared_writes.h"
#include "opyard/detail/tensor/exported_tensor.h"
#include "opyard/registry/operator.h"

namespace opyard::python {

class DirectCall {
 public:
  // With the GIL held; throws PythonErrorSet.
  DirectCall(Runtime& runtime, const Operator& op);

  // Makes a vectorcall and gives its result, a new reference; or gives null, without an exception,
  // if it has to be made through the stack. Throws what the kernel throws, and PythonErrorSet.
  // `overload` is the operator's Python object.
  PyObject* try_call(Runtime& runtime, PyObject* overload, PyObject* const* args, std::size_t flags,
                     PyObject* names) const;

 private:
  bool join_keywords(const Runtime& runtime, PyObject* const* values, PyObject* names,
                     DispatchKeySet& keys) const;
  bool are_ready(PyObject* const* args, std::size_t count, PyObject* names) const;
  PyObject* call_function(Runtime& runtime, const Record& record, PyObject* const* args,
                          std::size_t flags, PyObject* names) const;
  PyObject* call_with_rule(Runtime& runtime, const Record& record, PyObject* const* args,
                           std::size_t flags, PyObject* names) const;
  bool passes_tape(const Record& tape, PyObject* const* args, std::size_t count,
                   PyObject* names) const;
  PyObject* call_below_tape(Runtime& runtime, DispatchKeySet keys, PyObject* overload,
                            PyObject* const* args, std::size_t flags, PyObject* names) const;
  PyObject* call_view(Runtime& runtime, DispatchKeySet keys, PyObject* const* args,
                      std::size_t flags, PyObject* names) const;
  PyObject* call_observed(Runtime& runtime, const Record& watch, DispatchKeySet keys,
                          PyObject* const* args, std::size_t flags, PyObject* names) const;
  bool fits_cpp_call(PyObject* const* args, std::size_t count) const;
  PyObject* call_handlers(Runtime& runtime, PyObject* overload, PyObject* const* args,
                          std::size_t count, PyObject* names) const;
  void add_writes(DeclaredWrites& writes, PyObject* const* args, std::size_t count,
                  PyObject* names) const;
  PyObject* given_for(std::size_t position, PyObject* const* args, std::size_t count,
                      PyObject* names) const;
  void share_versions(const Runtime& runtime, PyObject* answer, PyObject* const* args,
                      std::size_t count, PyObject* names) const;
  PyObject* with_arguments(const Runtime& runtime, Owned answer, PyObject* const* args,
                           std::size_t count, PyObject* names) const;
  bool result_is_ready(const Runtime& runtime, PyObject* result) const;
  template <typename Visit>
  void each_argument(PyObject* const* args, std::size_t count, PyObject* names,
                     const Visit& visit) const;
  bool is_apart(PyObject* const* args, std::size_t count, PyObject* names, PyObject* result) const;
  bool obeys(ResultRule rule, PyObject* const* args, std::size_t count, PyObject* names,
             PyObject* result) const;
  OPYARD_COLD void learn(const Record& record) const;

  struct Parameter {
    Ready ready;
    bool keyword_only;
    bool required;
    bool out;  // given by name, and written to
    bool written;
    Owned name;           // interned
    Owned default_value;  // as an object; null if there is none
  };

  const Operator& op_;
  const BoxedFunction python_run_;  // of records that have a PythonKernel
  std::vector<Parameter> parameters_;
  std::vector<Ready> results_;
  std::vector<int> returned_;         // see returned_arguments()
  std::vector<int> viewed_;           // see viewed_arguments()
  bool writes_ = false;               // an argument
  bool aliases_ = false;              // a result is an argument, or a view of one
  bool possible_ = true;              // false for variadic schemas and for more than 64 arguments
  bool only_tensors_ = true;          // by position
  Py_ssize_t least_ = 0;              // how many have to be given by position,
  Py_ssize_t most_ = 0;               // and may be
  std::uint64_t required_names_ = 0;  // which have to be given by name, by position in the schema

  // The C++ signature that was met last, and the function that calls it; null if there is none.
  // With the GIL.
  mutable const std::type_info* signature_ = nullptr;
  mutable CppCall cpp_call_ = nullptr;
  mutable CppCallSite cpp_site_;
};

}  // namespace opyard::python
