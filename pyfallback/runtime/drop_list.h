// runtime/drop_list.h: references dropped without the GIL, and released later.
//
// No destructor takes a GIL: code that drops the last C++ owner of a Python object on a thread
// without it puts the reference here. The list is emptied where the next call returns to Python,
// and by a pending call of the main thread. Once the gate is closed nothing is touched any more.
//
// A chain without a lock, so that the child of a fork cannot find it held. Entries are taken off
// all at once only, hence none can be taken twice.
//
// Depends on: runtime/{python,deferred_work}.h.
#pragma once

#include "opyard/detail/python/python.h"

#include <atomic>
#include <utility>

#include "runtime/deferred_work.h"

namespace opyard::python {

// [Chains] An object that dies may be the last owner of another one, as arrays that share memory
// are of each other, one on the C stack of the other. So only so many die inside of each other on a
// thread; those beyond go on the list as well, and are dropped when the outermost is done.
inline constexpr int kDeepestDrop = 32;
inline constinit __thread int drop_depth __attribute__((tls_model("initial-exec"))) = 0;
inline constinit __thread bool drops_put_aside __attribute__((tls_model("initial-exec"))) = false;

class DropList {
 public:
  // Takes over a reference. Any thread, no GIL. If there is no memory for the entry the
  // reference is leaked.
  void push(PyObject* object) noexcept;

  // Whether there is something to drop: one load.
  bool pending() const noexcept { return first_.load(std::memory_order_relaxed) != nullptr; }
  // Takes everything off, the oldest first, and hands each reference to `drop`. What that pushes
  // waits for the next time.
  template <typename Drop>
  void drain(const Drop& drop) noexcept {
    Entry* oldest = take_all();
    while (oldest != nullptr) {
      Entry* const done = std::exchange(oldest, oldest->next);
      deferred_work.fetch_sub(1, std::memory_order_relaxed);
      drop(done->object);
      delete done;
    }
  }

 private:
  struct Entry {
    PyObject* object;
    Entry* next;
  };

  Entry* take_all() noexcept;

  std::atomic<Entry*> first_{nullptr};  // the newest
};

}  // namespace opyard::python
