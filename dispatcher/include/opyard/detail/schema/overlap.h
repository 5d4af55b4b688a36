// opyard/detail/schema/overlap.h: overlap of overloads: calls that two of them accept.
//
// A call from Python goes to the first overload that takes its arguments, in order of definition.
// Where another one takes them as well, the order decides, and a reader of the call cannot see
// which; so Library warns when it defines the second.
//
// What counts is what a type takes as it is: an int for int, SymInt and Scalar, one number for
// int[2], None for T?, an empty list for every list. What is only converted does not count: an int
// for float, a text for Device, a tensor of one number for int.
//
// Depends on: schema/schema.h.
#pragma once

#include <optional>
#include <string>

#include "opyard/schema/schema.h"

namespace opyard {

// A call that both schemas accept, by the types of its arguments, as in "(Tensor, int,
// alpha=None)". Nothing if there is none; if the choice is the expected one, since `first`
// asks for more (int before Scalar) or `second` has the same arguments and further ones; and for
// variadic schemas.
OPYARD_API std::optional<std::string> find_ambiguous_call(const Schema& first,
                                                          const Schema& second);

}  // namespace opyard
