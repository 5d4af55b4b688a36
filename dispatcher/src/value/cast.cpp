// value/cast.cpp: errors of Value::to<T>().
#include "opyard/value/cast.h"

#include <fmt/format.h>

namespace opyard::detail {

void refuse_length(Kind kind, std::size_t wanted, std::size_t given) {
  fail(ErrorKind::BadArgument, fmt::format("expected a {} of {} element{} but got one of {}",
                                           name_of(kind), wanted, wanted == 1 ? "" : "s", given));
}

void refuse_user_type(const UserType& wanted, const UserType& given) {
  fail(ErrorKind::BadArgument, fmt::format("expected {} {} but got one of {}",
                                           wanted.is_enum() ? "a member of" : "an object of class",
                                           wanted.name(), given.name()));
}

}  // namespace opyard::detail
