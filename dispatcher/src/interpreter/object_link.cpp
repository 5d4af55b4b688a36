// interpreter/object_link.cpp: binding an object to one interpreter.
#include "opyard/detail/interpreter/object_link.h"

#include <fmt/format.h>

namespace opyard {

void ObjectLink::claim(Interpreter* us) {
  Interpreter* former = nullptr;
  while (!tag_.compare_exchange_strong(former, us, std::memory_order_acq_rel)) {
    if (former == us) return;
    refuse_unless_ended(us, former);
  }
  if (former == nullptr) return;
  // What an ended interpreter left here went with it.
  object_ = nullptr;
  owns_object_ = false;
}

void* ObjectLink::refuse_unless_ended(Interpreter* us, Interpreter* other) {
  if (!other->armed()) return nullptr;
  fail(ErrorKind::InterpreterGone,
       fmt::format("this object belongs to interpreter {} and cannot be used in interpreter {}; "
                   "pass t.alias() to get an untagged tensor on the same storage",
                   other->name(), us->name()));
}

}  // namespace opyard
