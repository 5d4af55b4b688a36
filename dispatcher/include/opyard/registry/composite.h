// opyard/registry/composite.h: composite(): kernels that are texts of calls of other operators.
//
//   m.def("lerp_to(Tensor x, Tensor to, float by=0.5) -> Tensor", composite("x + (to - x) * by"));
//
// The body takes the operator's arguments by their names; docs/reference/formulas.md says what it
// may contain. It is read where the kernel is registered, if its operator is defined by then: a
// body that does not parse, that calls what is not there or, by others, itself, or whose results do
// not fit the schema raises BadGraph with line and column, and nothing is registered. In a shared
// library that is being loaded bodies are read when all of its blocks have run, in blocks of a
// program itself at their first call: what they call may come later.
//
// Like any kernel without a key, it serves CompositeImplicitAutograd: calls on Meta and gradients
// see the calls of its body. What reads it is libopyard_jit, which is loaded then.
//
// Depends on: registry/library.h.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opyard/detail/registry/body.h"
#include "opyard/registry/kernel.h"
#include "opyard/registry/library.h"

namespace opyard {

// A kernel whose calls are those of a text, which raises BadGraph when it is read; see above.
OPYARD_API Kernel composite(std::string body);
// The same of a body that was checked when its library was built: it is read at its first call, so
// that a library which has many loads as fast as one that has none.
OPYARD_API Kernel checked_composite(std::string body);

// Defines an operator with such a kernel, both or neither, and gives its full name. What Library
// has of def() and implement() holds.
inline OperatorName composite(Library& library, std::string_view schema, std::string body,
                              std::vector<std::string> tags = {}, std::string doc = "") {
  Kernel kernel = composite(std::move(body));
  // Before the definition, so that there is nothing to undo.
  detail::check_body(library.name_space(), schema, kernel);
  OperatorName name =
      library.def(schema, std::move(tags), AliasAnalysis::FromSchema, std::move(doc));
  library.implement(to_string(name), DispatchKey::CompositeImplicitAutograd, std::move(kernel),
                    false);
  return name;
}

}  // namespace opyard
