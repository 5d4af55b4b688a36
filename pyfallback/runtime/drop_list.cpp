// runtime/drop_list.cpp: putting references aside, and dropping them.
#include "runtime/drop_list.h"

#include <new>
#include <utility>

#include "runtime/exit.h"
#include "runtime/left_work.h"

namespace opyard::python {

void DropList::push(PyObject* object) noexcept {
  auto* const entry = new (std::nothrow) Entry{object, first_.load(std::memory_order_relaxed)};
  if (entry == nullptr) return;  // leaked: nothing may be dropped without the GIL
  left_work.fetch_add(1, std::memory_order_relaxed);
  while (!first_.compare_exchange_weak(entry->next, entry, std::memory_order_release,
                                       std::memory_order_relaxed)) {
  }
}

void DropList::drain_with_gil_held() noexcept {
  Entry* entry = first_.exchange(nullptr, std::memory_order_acquire);
  // The oldest first, as they were let go.
  Entry* oldest = nullptr;
  while (entry != nullptr) {
    Entry* const next = std::exchange(entry->next, oldest);
    oldest = std::exchange(entry, next);
  }
  while (oldest != nullptr) {  // a finaliser may push further references, for the next time
    Entry* const done = std::exchange(oldest, oldest->next);
    left_work.fetch_sub(1, std::memory_order_relaxed);
    drop_reference(done->object);
    delete done;
  }
}

}  // namespace opyard::python
