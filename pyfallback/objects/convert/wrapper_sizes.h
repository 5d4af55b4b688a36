// objects/convert/wrapper_sizes.h: sizes of wrappers after operators that change sizes in place.
//
// A handler that unwraps, calls and wraps changes the sizes of the inner tensor, and gives a new
// wrapper. The wrapper that was given, if its class does not define its sizes, gets those of the
// new one.
//
// Depends on: registry/operator.h.
#pragma once

#include "opyard/registry/operator.h"

namespace opyard::python {

// `made` is what a handler of `op` gave for the argument `given`. Nothing if the operator has not
// the tag inplace_view. Raises BadValue for one that needs a gradient while gradients are off.
void follow_sizes(const Operator& op, const Tensor& made, const Tensor& given);

}  // namespace opyard::python
