// opyard/schema/future_type.h: futures that know the type of their value.
//
//   const auto future = make_counted<FutureObject>(future_element(base_type(TypeKind::Int)));
//   future->then(callback, future_element(…))
//
// Depends on: schema/type.h, value/future_object.h.
#pragma once

#include "opyard/detail/value/future_object.h"
#include "opyard/schema/type.h"

namespace opyard {

// What makes a future a Future(type): it takes such values only, and is accepted if the schema
// says so. Raises BadArgument for a null pointer.
OPYARD_API CountedPtr<const FutureElement> future_element(TypePtr type);

// The T of a Future(T); Any if it was made without one.
OPYARD_API TypePtr element_type(const FutureObject& future);

}  // namespace opyard
