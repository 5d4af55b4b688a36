// autograd/tape/taped_rule.h: tangents by the tape: a backward, differentiated backward.
//
// A formula is linear in the gradient. Run for a gradient of zeros, with the tape on, what it gives
// can be differentiated by that gradient, in the direction of an argument's tangent: that is the
// tangent of the result.
//
// Depends on: autograd/forward/rules.h.
#pragma once

#include <span>
#include <vector>

#include "forward/rules.h"
#include "tape/several.h"

namespace opyard::autograd {

// A call that has ended: its arguments as they were before, by argument their tangents.
struct CallValues {
  const ForwardRules& rules;
  const std::vector<Value>& arguments;
  std::span<const Value> results;
  const std::vector<Several>& tangents;
};

// A tangent, or none, for each result: what the tangents of a formula's arguments come to. Raises
// Unsupported for a formula of real numbers that reads complex ones.
std::vector<Value> taped_tangents(const CallValues& call, const ForwardFormula& formula);
// The same by the backward of a user, for all arguments.
std::vector<Value> taped_tangents_of_custom(const CallValues& call);

}  // namespace opyard::autograd
