// value/object.cpp: default methods of user-defined objects.
#include "opyard/value/object.h"

#include <fmt/format.h>

#include "opyard/base/error.h"
#include "opyard/value/value.h"

namespace opyard {

const UserType& Object::find_type() const {
  const UserType& found = detail::require_user_type(typeid(*this));
  type_.store(&found, std::memory_order_release);
  return found;
}

CountedPtr<Object> Object::copy(CopyMemo&) const {
  fail(ErrorKind::Unsupported,
       fmt::format("an object of class {} cannot be copied; the class overrides "
                   "opyard::Object::copy() where it can be",
                   type().name()));
}

std::string Object::text() const { return fmt::format("<{} object>", type().name()); }

void Object::append_values(std::vector<Value>&) const {}

}  // namespace opyard
