// registry/signature.h: C++ signatures, as people and schemas see them.
//
// Depends on: base/readable.h, registry/record.h, schema/schema.h.
#pragma once

#include "base/readable.h"
#include "opyard/registry/record.h"
#include "opyard/schema/schema.h"

namespace opyard {

// A nameless schema with arguments and results called _0, _1, …
Schema schema_of(const InferredTypes& types);

}  // namespace opyard
