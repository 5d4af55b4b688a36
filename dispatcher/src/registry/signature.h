// registry/signature.h: C++ signatures of kernels: text, and comparison with schemas.
//
// Depends on: base/demangled.h, registry/record.h, schema/schema.h.
#pragma once

#include <cstdint>

#include "base/demangled.h"
#include "opyard/detail/registry/record.h"
#include "opyard/schema/schema.h"

namespace opyard {

// Operator::signature_ is the address of a type_info, and this if a typed handle was made with
// it.
inline constexpr std::uintptr_t kHandleMade = 1;

// A nameless schema with arguments and results called _0, _1, …
Schema schema_of(const InferredTypes& types);

}  // namespace opyard
