// opyard/autograd/derivative.h: formulas of an operator, as code that a function runs.
//
// Each formula is read once, into straight-line code over operators. What it needs is saved when
// the call is taped, and nothing else: the code's inputs say what that is.
//
//   grad, grad0 …     the gradient of a result
//   self, other …     an argument; a tensor is saved
//   result, result0 … a result, saved
//   sizes(self)       asked when the call is taped, so that self is not saved; so is all that is asked
//                     of arguments by operators that look at no element (jit::is_question())
//
// A formula may also be a class of C++ or Python: CustomDerivative.
//
// Depends on: autograd/function.h, jit/{code,formula}.h, registry/gradient_slot.h.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "opyard/autograd/function.h"
#include "opyard/detail/registry/gradient_slot.h"
#include "opyard/jit/code.h"
#include "opyard/jit/formula.h"
#include "opyard/registry/operator.h"

namespace opyard::autograd {

// Makes the function of a call that has ended. Given to Derivative::function.
class OPYARD_API CustomDerivative : public Counted {
 public:
  // `needs` has an item for each argument. Edges and inputs are added by the caller.
  virtual FunctionPtr make(const Operator& op, std::span<const Value> arguments,
                           std::span<const Value> results, const std::vector<bool>& needs) = 0;
};

// Where an input of a formula's code comes from.
struct Source {
  enum class Kind : std::uint8_t {
    Gradient,    // of result `index`
    Argument,    // its value, saved
    Result,      // saved
    OtherSizes,  // of argument `index`, or None if they are those of the result
    Answer,      // of a question about arguments, asked when the call is taped
  };
  Kind kind;
  std::size_t index = 0;
  // Of an Answer: the operator, and for each of its arguments which argument of the call it is, or
  // -1 and a constant.
  const Operator* question = nullptr;
  std::vector<std::pair<int, Value>> asks = {};

  bool asks_results() const noexcept;
  bool operator==(const Source& other) const;
};

// [Complex numbers] A formula says conj() of the factors that are conjugated if they are complex,
// and is right for real numbers as well. So it is compiled twice, without conj() for runs that read
// no complex number: those pay nothing. A formula that calls nothing which tells the parts of a
// number apart was written for real numbers, and may read complex ones only as gradients.
struct FormulaCode {
  std::string text;
  jit::CodePtr code;
  std::vector<std::size_t> inputs;          // sources, by number
  std::vector<std::size_t> outputs;         // arguments
  std::vector<std::size_t> positions = {};  // of these in FormulaSet::tensors
  jit::CodePtr complex_code = {};           // with conj(); null if the formula says none
  bool knows_complex = false;
};

// What all formulas of an operator come to. Immutable.
class OPYARD_API FormulaSet final : public Counted {
 public:
  // Raises BadGraph, with operator, formula, column and caret.
  FormulaSet(const Operator& op, const Derivative& derivative);

  std::vector<Source> sources;
  std::vector<std::string> source_names;  // see saved_fields.h; empty for what has none
  std::vector<std::uint64_t> used_by;     // by source: bit i for each code i that uses it
  std::vector<FormulaCode> codes;         // at most 64
  // The arguments that take tensors, in order: each has one edge, or as many as its list is long.
  struct TensorArgument {
    std::size_t argument;
    bool is_list;
  };
  std::vector<TensorArgument> tensors;
  bool result_is_list = false;
  // For each argument which code gives its gradient; -1 for none, -2 for "None": it has no
  // gradient.
  std::vector<int> code_of;
  std::string name;                            // "MulBackward0"
  mutable std::atomic<std::uint32_t> note{0};  // of a profile

 private:
  void add(const Operator& op, const Formula& formula, jit::ParsedFormula parsed,
           const jit::FormulaNames& names);

 public:
  static constexpr int kNoFormula = -1;
  static constexpr int kNoGradient = -2;
};

// "aten::mul.Tensor" gives "MulBackward0", as people know it.
OPYARD_API std::string backward_name(const Operator& op);

// The derivative that calls of an operator are taped by: its own, else that of its functional form
// ("mul.Tensor" for "mul_.Tensor"), else null.
OPYARD_API CountedPtr<const Derivative> find_derivative(const Operator& op);
// Reads the formulas that an operator has, without a call. Raises BadGraph, and NotFound if it has
// none.
OPYARD_API void check_formulas(const Operator& op);

// From now on a formula with a fault is refused when it is registered (BadGraph), not at its first
// use; so is one that calls an operator which is not defined yet. Those of a plugin are read when
// all of it is registered; else it is not loaded. Not read at all: formulas of operators that are
// not defined yet, of blocks that a program links, and any while opyard_kernels is not loaded. It
// is so from the start in debug builds of this library, and if the environment has
// OPYARD_CHECK_FORMULAS=1. Gives the former setting.
OPYARD_API bool check_formulas_at_registration(bool checks) noexcept;

}  // namespace opyard::autograd
