// slot/object_slot.cpp: claiming an object for one interpreter.
#include "opyard/slot/object_slot.h"

#include <fmt/format.h>

namespace opyard {

void ObjectSlot::claim(Interpreter* us) {
  Interpreter* expected = nullptr;
  if (tag_.compare_exchange_strong(expected, us, std::memory_order_acq_rel)) return;
  if (expected != us) refuse(us, expected);
}

void ObjectSlot::refuse(Interpreter* us, Interpreter* other) {
  fail(ErrorKind::InterpreterGone,
       fmt::format("this object belongs to interpreter {} and cannot be used in interpreter {}; "
                   "pass t.alias() to get an untagged tensor on the same storage",
                   other->name(), us->name()));
}

}  // namespace opyard
