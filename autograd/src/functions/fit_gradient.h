// autograd/functions/fit_gradient.h: making a gradient look like the tensor that it is of.
//
// Depends on: autograd/function.h.
#pragma once

#include "opyard/autograd/function.h"

namespace opyard::autograd {

[[noreturn]] OPYARD_COLD void refuse_gradient(const Function& function, std::size_t index,
                                              const std::string& what);

// Sums it over dimensions that were broadcast, takes the real part for a real tensor, and converts
// it to the dtype. `gradient` is defined, and what `function` gave at its edge `index`. Raises
// BadReturn for another device, sizes that cannot be summed to the expected ones, and for integers.
void fit_gradient(const Function& function, std::size_t index, Tensor& gradient,
                  const Expected& expected);

}  // namespace opyard::autograd
