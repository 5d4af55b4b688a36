// opyard/autograd/derivative_call.h: DerivativeCall: gradients of a call without a tape.
//
// For those who keep a tape of their own: they say what a call got and gave, and the gradients of
// its results. The same formulas, or function of Python, run as in a backward of this library.
//
// Depends on: autograd/function.h, registry/operator.h.
#pragma once

#include <span>
#include <vector>

#include "opyard/autograd/function.h"
#include "opyard/registry/operator.h"

namespace opyard::autograd {

struct Plan;

// What a derivative uses of a call, as numbers of arguments and results.
struct DerivativeUse {
  std::vector<std::size_t>
      arguments;  // it reads them, asks them something, or gives their gradient
  std::vector<std::size_t> results;
  std::vector<std::size_t> gradients;  // of results
  std::vector<std::size_t> gives;      // arguments whose gradient it gives
  std::vector<std::size_t> missing;    // arguments that take tensors, and for which nothing is said
};

class OPYARD_API DerivativeCall {
 public:
  // Reads the derivative that the operator has now. Raises BadGraph for a formula with a fault.
  explicit DerivativeCall(const Operator& op);
  DerivativeCall(DerivativeCall&&) noexcept;
  DerivativeCall& operator=(DerivativeCall&&) noexcept;
  ~DerivativeCall();

  // Whether the operator has one.
  explicit operator bool() const noexcept;
  const Operator& op() const noexcept;
  const DerivativeUse& use() const noexcept;

  // A gradient for each tensor of each argument that takes tensors, in order, as many for a list as
  // it is long: of the tensor's sizes, dtype and device, contiguous, and on memory of its own;
  // undefined if it is not wanted, or the tensor cannot have one. `wanted` is by argument. What is
  // not used of arguments and results may be None. `gradients` are those of the results, of a list
  // those of its elements; an undefined one is zero. Raises BadArgument for other counts,
  // Unsupported if an argument is wanted that is missing, and what the derivative raises. Nothing
  // of the run is taped.
  Gradients run(std::span<const Value> arguments, std::span<const Value> results,
                Gradients gradients, const std::vector<bool>& wanted) const;

  // The same of what it uses, in the order of use(): the gradients of results, arguments, results,
  // and last a list that says for each of `gives` whether it is wanted. A list of those that are
  // defined.
  Value run(std::span<const Value> values) const;

 private:
  CountedPtr<Plan> plan_;
  DerivativeUse use_;
};

}  // namespace opyard::autograd
