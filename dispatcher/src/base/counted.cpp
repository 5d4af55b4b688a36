// base/counted.cpp: the one home of Counted's vtable.
#include "opyard/base/counted.h"

#include "base/weak_table.h"

namespace opyard {

Counted::~Counted() {
  if (__builtin_expect(watched_.load(std::memory_order_relaxed), 0)) detail::forget_watched(this);
}

}  // namespace opyard
