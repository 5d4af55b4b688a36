// schema/sharing.cpp: object sharing between values, by their types.
#include "schema/sharing.h"

#include <algorithm>

#include "schema/base_types.h"

namespace opyard::detail {
namespace {

// Values of the type are objects that can have two owners, not plain numbers and texts.
bool is_shared(const Type& type) {
  return !is_base(type.kind()) || (base_entry(type.kind()).kinds & kind_set::Shared) != 0;
}

// A value of the type is a value of one of its elements.
bool is_choice(const Type& type) {
  return type.kind() == TypeKind::Optional || type.kind() == TypeKind::Union;
}

}  // namespace

bool can_be_one_object(const Type& a, const Type& b) {
  if (is_choice(a)) {
    return std::any_of(a.elements().begin(), a.elements().end(),
                       [&](const TypePtr& element) { return can_be_one_object(*element, b); });
  }
  if (is_choice(b)) return can_be_one_object(b, a);
  if (!is_shared(a) || !is_shared(b)) return false;
  return a.kind() == b.kind() || is_anything(a) || is_anything(b);
}

}  // namespace opyard::detail
