// base/weak.cpp: weak references.
//
// Overview: the first WeakPtr to an object makes a cell that holds the object's address, sets the
// object's flag, and notes the cell in one table of the process. Later ones find the cell there.
//
// [End] The last owner's release destroys the object from the most derived part down to Counted,
// whose destructor sees the flag and comes here, before the memory is given back. It empties the
// cell under the lock. lock() reads the cell under the same lock and adds an owner only if the
// count is not zero: so it either comes first and keeps the object, or finds it dead.
//
// [Cells] The table does not own the cells. A cell whose last watcher goes takes itself out; a
// watcher that comes in that moment finds a cell without owners and puts a new one in its place.
#include "opyard/base/weak.h"

#include <mutex>
#include <unordered_map>

#include "base/weak_table.h"
#include "opyard/detail/base/mutex.h"

namespace opyard::detail {
namespace {

// Never destroyed: objects die during static destruction, too.
struct WeakTable {
  Mutex mutex{LockRank::WeakPointers};
  std::unordered_map<const Counted*, WeakCell*> cells;  // guarded by mutex
};

WeakTable& weak_table() {
  static WeakTable& made = *new WeakTable;
  return made;
}

}  // namespace

CountedPtr<WeakCell> WeakCell::of(const Counted* object) {
  CountedPtr<WeakCell> fresh = make_counted<WeakCell>(object);
  WeakTable& all = weak_table();
  {
    const std::lock_guard lock(all.mutex);
    WeakCell*& known = all.cells[object];
    if (known == nullptr || !CountedAccess::retain_if_alive(known)) {  // see [Cells]
      CountedAccess::watch(object);
      known = fresh.get();
      return fresh;
    }
    fresh->object_ = nullptr;
    return CountedPtr<WeakCell>::steal(known);  // `fresh` dies after the lock is released
  }
}

WeakCell::~WeakCell() {
  WeakTable& all = weak_table();
  const std::lock_guard lock(all.mutex);
  if (object_ == nullptr) return;
  const auto found = all.cells.find(object_);
  if (found != all.cells.end() && found->second == this) all.cells.erase(found);
}

const Counted* WeakCell::lock() const noexcept {
  const std::lock_guard lock(weak_table().mutex);
  return object_ != nullptr && CountedAccess::retain_if_alive(object_) ? object_ : nullptr;
}

void forget_watched(const Counted* object) noexcept {
  WeakTable& all = weak_table();
  const std::lock_guard lock(all.mutex);
  const auto found = all.cells.find(object);
  if (found == all.cells.end()) return;
  found->second->object_ = nullptr;
  all.cells.erase(found);
}

}  // namespace opyard::detail
