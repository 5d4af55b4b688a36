// operators/call_plan.h: a schema compiled for calls from Python.
//
// A plan is compiled from the schema when the operator's Python object is made: interned
// names, defaults as values, what may be given by position. Binding walks it once, puts the
// arguments straight onto the stack, and builds no dictionary and no tuple.
//
// Where the arguments do not fit, the failure is found once, as an ArgumentMismatch, and put into
// words only where no one takes the call: looking a second time may run an __index__ that answers
// otherwise.
//
// Depends on: operators/direct_call.h, operators/python_call.h, registry/operator.h.
#pragma once

#include "runtime/runtime.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operators/direct_call.h"
#include "operators/python_call.h"
#include "opyard/registry/operator.h"

namespace opyard::python {

// Why arguments do not fit a schema.
struct ArgumentMismatch {
  enum class Kind : std::uint8_t { TooMany, Missing, Type, Range, Names };
  Kind kind;
  std::size_t position;  // of the parameter; for TooMany and Names how many were given by position
  PyObject* given;       // for Type and Range; borrowed from the caller's arguments
  const char* accepted;  // for Range
  // What is wrong with it besides, as the element of a list that is to blame, in words that are cut
  // if they are long; empty for nothing.
  char details[200];

  void set_details(std::string_view text);
  bool has_details() const noexcept { return details[0] != '\0'; }
};

class CallPlan {
 public:
  // With the GIL held; throws PythonErrorSet.
  CallPlan(Runtime& runtime, const Operator& op);

  // How arguments may fit. One at least as they are, each as far as its schema type converts.
  enum Ways : std::uint8_t {
    kAsTheyAre = 0,
    // The ints at the end as one list, if that is what a schema of aten ends in: reshape(x, 3, 2)
    // for reshape(x, [3, 2]).
    kSpread = 1,
    // Numbers for tensors beside another tensor, for operators of arithmetic: add.Tensor(x, 1).
    kNumbers = 2,
    // No other candidate is asked: an object that names nothing raises, and so does an array that
    // cannot be read as a tensor.
    kOnlyCandidate = 4,
  };

  // Pushes one value an argument of the schema onto the call's stack. If the arguments do not fit
  // it gives false, with what was wrong in `mismatch`; the stack is then as it was. Throws where a
  // conversion raises. Tensors are borrowed: the caller's references keep them alive, and the call
  // those that were made of arrays of other libraries and of numbers.
  bool bind(PythonCall& call, Ways ways, ArgumentMismatch& mismatch) const;
  // Whether it is worth while to bind the arguments in this way, kSpread or kNumbers.
  bool may_fit(const PythonCall& call, Ways way) const noexcept;
  // Binds in any way, as the only candidate; raises what refuse() does if they do not fit.
  void require(PythonCall& call) const;
  // Whether bind() would convert one of them to another kind, if it takes them; see
  // needs_conversion(). Runs no code of Python's.
  bool needs_conversion(const Runtime& runtime, const GivenArguments& given) const noexcept {
    return may_need_conversion_ && some_need_conversion(runtime, given);
  }
  // Whether one of the arguments by position is a number for a Tensor.
  bool has_number_for_tensor(const GivenArguments& given) const noexcept;

  // A mismatch in words; `names` as they were bound.
  std::string explain(const ArgumentMismatch& mismatch, PyObject* names) const;
  // The same for a message that speaks of several overloads: in one sentence, where `types` are
  // those that would have been taken; and what to do about it, or "".
  std::string reason(const ArgumentMismatch& mismatch, PyObject* names,
                     std::string_view types) const;
  std::string advice(const ArgumentMismatch& mismatch, PyObject* names,
                     bool of_one_type = true) const;
  // The name and the type of the argument that a mismatch of kind Missing, Type or Range is about.
  const std::string& blamed(const ArgumentMismatch& mismatch) const;
  std::string wanted_type(const ArgumentMismatch& mismatch) const;
  // How many arguments may be given by position.
  std::size_t count_by_position() const noexcept {
    return positional_ < 0 ? 0 : std::size_t(positional_);
  }
  // How many of these names, a tuple or null, are those of arguments.
  std::size_t count_known(PyObject* names) const;
  // Whether so many arguments may be all.
  bool takes_no_fewer_than(std::size_t given) const noexcept;
  // Raises BadArgument (TypeError) with those words; OperatorGone if the definition was taken
  // back, Unsupported for an operator with a variadic schema.
  [[noreturn]] OPYARD_COLD void refuse(const ArgumentMismatch& mismatch, PyObject* names) const;

  // How calls are made whose arguments are ready; see operators/direct_call.h.
  const DirectCall& direct() const noexcept { return direct_; }

  // Calls the operator with what was bound, and gives the results as one Python object: None, the
  // one, or a tuple of them. Leaves the stack as it was before.
  PyObject* call(PythonCall& call) const;
  // Right before the kernel of a call that is made in another way: ForeignArguments::before_call().
  void before_call(PythonCall& call) const {
    call.arrays.before_call(call.runtime, op_.name().name);
  }
  const Operator& op() const noexcept { return op_; }
  // The argument of an interned name, or null.
  const Argument* find_argument(PyObject* name) const noexcept;

 private:
  struct Parameter {
    Owned name;
    const Argument* argument;
    bool is_tensor;  // exactly Tensor: the common case
    bool is_written;
    bool may_need_conversion;
  };

  const Parameter* find(PyObject* name) const;
  bool some_need_conversion(const Runtime& runtime, const GivenArguments& given) const noexcept;
  bool push_all(PythonCall& call, Ways ways, ArgumentMismatch& mismatch) const;
  bool push(PythonCall& call, std::size_t position, PyObject* given, Ways ways,
            ArgumentMismatch& mismatch) const;
  bool push_converted(PythonCall& call, std::size_t position, PyObject* given, Ways ways,
                      ArgumentMismatch& mismatch) const;
  OPYARD_COLD Owned spread_ints(const PythonCall& call, std::size_t first) const;
  bool is_number_for_tensor(const Runtime& runtime, std::size_t position,
                            PyObject* given) const noexcept;
  OPYARD_COLD PyObject* tensor_for_number(PythonCall& call, std::size_t position,
                                          PyObject* given) const;
  [[noreturn]] OPYARD_COLD void refuse_array(const RefusedArray& refused,
                                             const ArgumentMismatch& mismatch) const;
  [[noreturn]] OPYARD_COLD void refuse(ErrorKind kind, std::string text) const;
  // Adds "<argument><place> <what>".
  OPYARD_COLD void blame(ArgumentMismatch& mismatch, std::string_view place,
                         std::string_view what) const;
  std::string reason_of_value(const ArgumentMismatch& mismatch, std::string_view types) const;
  std::string reason_of_names(std::size_t count, PyObject* names) const;
  std::string advice_for_count(std::ptrdiff_t given) const;
  std::string advice_for_symbol(PyObject* given) const;
  std::string advice_for_type(const ArgumentMismatch& mismatch) const;
  std::string advice_for_name(std::string_view name) const;
  std::string advice_for_names(PyObject* names) const;

  OPYARD_COLD void move_offset(PythonCall& call) const;

  const Operator& op_;
  const DirectCall direct_;
  std::vector<Parameter> parameters_;
  // How many arguments may be given by position. A variadic schema has fewer than none, so
  // that the check that each call makes anyway refuses it.
  static constexpr Py_ssize_t kCannotBeCalled = -1;
  Py_ssize_t positional_ = 0;
  // The position of an argument called storage_offset, behind a tensor that it counts in; 0 if
  // there is none.
  std::size_t storage_offset_ = 0;
  // Of aten: whether the last one that may be given by position is a list of ints, with nothing but
  // tensors before it.
  bool ends_in_ints_ = false;
  bool takes_numbers_ = false;
  bool may_need_conversion_ = false;  // of any parameter
};

inline CallPlan::Ways operator|(CallPlan::Ways a, CallPlan::Ways b) noexcept {
  return CallPlan::Ways(std::uint8_t(a) | std::uint8_t(b));
}

// The results of an operator, on top of the stack, as one Python object: None, the one, or a tuple
// of them. Takes them from the stack.
PyObject* take_results(Runtime& runtime, const Operator& op, Stack& stack);
// The same for a call with arguments from Python: tensors become arrays where those were given.
PyObject* take_results(const Operator& op, PythonCall& call);

}  // namespace opyard::python
