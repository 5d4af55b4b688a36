// autograd/forward/rules.h: tangent rules of operators, each found at its first call.
//
// A formula takes the gradient of a result to that of an argument; a tangent goes the other way, by
// the adjoint of the same linear map. For each formula it is taken from the first of these that
// there is:
//
//   Line        the text of a line "tangent self" beside the formulas: tangents of the results
//   SameCall    the operator gives views: the tangent is the same view of the argument's tangent
//   Elementwise every node of the formula works element by element: it is its own adjoint for real
//               numbers, with the argument's tangent for the gradient
//   Written     the adjoint as code, written from the formulas of the formula's own nodes
//               (forward/transpose.h)
//   Taped       the formula is run for a gradient of zeros, with the tape on, and differentiated
//               backward by that: right for everything that has second gradients, and slower
//
// Elementwise and Written are for real numbers; calls with complex ones take Taped.
//
// Depends on: autograd/plan.h, jit/code.h.
#pragma once

#include <memory>
#include <vector>

#include "functions/plan.h"
#include "opyard/jit/code.h"
#include "opyard/jit/formula.h"

namespace opyard::autograd {

// A formula as code, and what each of its inputs is.
struct ForwardCode {
  struct Input {
    enum class Kind : std::uint8_t { Gradient, Argument, Result, Tangent };
    Kind kind;
    std::size_t index = 0;
    bool reads_elements = true;  // and not sizes alone
  };
  jit::CodePtr code;
  std::vector<Input> inputs;

  explicit operator bool() const noexcept { return code != nullptr; }
  // Whether it is given this argument.
  bool reads_argument(std::size_t argument) const noexcept;
};

// One formula of a derivative: of several arguments if it gives a gradient for each.
struct ForwardFormula {
  std::string text;
  std::vector<std::size_t> arguments;
  ForwardCode code;         // the formula itself, with conj(): gradients of the arguments
  ForwardCode elementwise;  // tangent of the result; or empty
  ForwardCode written;      // tangents of the results; or empty
  bool knows_complex = false;
};

// How tangents of one argument reach the results.
struct ForwardArgument {
  enum class Kind : std::uint8_t { NoTangent, Missing, Line, SameCall, Formula, Custom };
  std::size_t argument = 0;
  bool is_list = false;
  Kind kind = Kind::Missing;
  ForwardCode line;         // of a Line
  std::size_t formula = 0;  // of a Formula, in ForwardRules::formulas
};

struct ForwardRules {
  const Operator* op = nullptr;
  CountedPtr<const Derivative> derivative;  // that it was made of
  CountedPtr<Plan> plan;
  bool is_composite = false;               // runs other operators, which have the rules
  std::vector<ForwardArgument> arguments;  // those that take tensors
  std::vector<ForwardFormula> formulas;
};

// Those that hold by now; good for ever. Raises BadGraph for a formula or line with a fault.
const ForwardRules& forward_rules(const Operator& op);

}  // namespace opyard::autograd
