// runtime/drop_list.cpp: deferred dropping of references.
#include "runtime/drop_list.h"

#include <new>
#include "runtime/deferred_work.h"

namespace opyard::python {

void DropList::push(PyObject* object) noexcept {
  auto* const entry = new (std::nothrow) Entry{object, first_.load(std::memory_order_relaxed)};
  if (entry == nullptr) return;  // leaked: nothing may be dropped without the GIL
  deferred_work.fetch_add(1, std::memory_order_relaxed);
  while (!first_.compare_exchange_weak(entry->next, entry, std::memory_order_release,
                                       std::memory_order_relaxed)) {
  }
}

DropList::Entry* DropList::take_all() noexcept {
  Entry* entry = first_.exchange(nullptr, std::memory_order_acquire);
  Entry* oldest = nullptr;
  while (entry != nullptr) {
    Entry* const next = std::exchange(entry->next, oldest);
    oldest = std::exchange(entry, next);
  }
  return oldest;
}

}  // namespace opyard::python
