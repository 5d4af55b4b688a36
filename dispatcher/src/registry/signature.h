// registry/signature.h: C++ signatures of kernels: text, and comparison with schemas.
//
// Depends on: base/demangled.h, registry/record.h, schema/schema.h.
#pragma once

#include <cstdint>
#include <string>

#include "base/demangled.h"
#include "opyard/detail/registry/record.h"
#include "opyard/schema/schema.h"

namespace opyard {

// Operator::signature_ is the address of a type_info, and this if a typed handle was made with
// it.
inline constexpr std::uintptr_t kHandleMade = 1;

// A nameless schema with arguments and results called _0, _1, …
Schema schema_of(const InferredTypes& types);

// The function that a schema asks for, as "Tensor scale(const Tensor& x, double by)"; empty if one
// of its types has no usual spelling in C++, such as a class of a user's.
std::string cpp_signature(const Schema& schema);

}  // namespace opyard
