// registry/signature.h: C++ signatures, as people and schemas see them.
//
// Depends on: registry/record.h, schema/schema.h.
#pragma once

#include <string>
#include <typeinfo>

#include "opyard/registry/record.h"
#include "opyard/schema/schema.h"

namespace opyard {

// "opyard::Tensor (opyard::Tensor const&, double)"
std::string readable(const std::type_info& signature);

// A nameless schema with arguments and results called _0, _1, …
Schema schema_of(const InferredTypes& types);

}  // namespace opyard
