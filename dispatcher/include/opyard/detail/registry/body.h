// opyard/detail/registry/body.h: bodies of composite kernels, and the door to their compiler.
//
// Depends on: registry/kernel.h, schema/schema.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "opyard/base/counted.h"
#include "opyard/registry/kernel.h"
#include "opyard/schema/schema.h"

namespace opyard::detail {

// Any thread, with no lock held.
struct BodyFunctions {
  // The code of a body, and in `calls` the operators that it calls. Raises BadGraph.
  CountedPtr<const Counted> (*compile)(const Schema& schema, std::string_view text,
                                       std::vector<OperatorName>& calls);
  // Runs such a code as a boxed kernel does. Raises what the operators do.
  void (*run)(const Counted& code, Stack& stack);
};

// For the library that has them. `functions` stay for the life of the process.
OPYARD_API void set_body_functions(const BodyFunctions& functions) noexcept;

// The text of a kernel that composite() made; null for others.
OPYARD_API const std::string* find_body(const Record& record) noexcept;

// Raises what is wrong with the body of a kernel that is about to be registered for an operator of
// this name, if it has one; see registry/composite.h.
void check_body(const OperatorName& name, const Kernel& kernel);
// The same before its operator is defined, by a schema in a library of this namespace.
OPYARD_API void check_body(std::string_view name_space, std::string_view schema,
                           const Kernel& kernel);

}  // namespace opyard::detail
