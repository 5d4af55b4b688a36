// base/counted.cpp: vtable of Counted.
#include "opyard/base/counted.h"

#include "base/weak_table.h"

namespace opyard {

void Counted::release_only() const noexcept {
  if (!watched_.load(std::memory_order_relaxed)) {
    owners_.store(0, std::memory_order_relaxed);
    end();
  } else if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    end();
  }
}

void Counted::release_last() const noexcept { end(); }

Counted::~Counted() {
  if (__builtin_expect(watched_.load(std::memory_order_relaxed), 0)) detail::forget_watched(this);
}

}  // namespace opyard
