// runtime/drop_list.h: references that were let go where no GIL was held.
//
// No destructor takes a GIL: whoever drops the last C++ owner of a Python object on a thread
// without it puts the reference here. The list is emptied at the next entry from Python, and
// by a pending call of the main thread. Once the gate is closed nothing is touched any more.
//
// Depends on: runtime/python.h.
#pragma once

#include "runtime/python.h"

#include <atomic>
#include <mutex>
#include <vector>

namespace opyard::python {

class DropList {
 public:
  // Takes over a reference. Any thread, no GIL. Where there is no memory for the entry the
  // reference is leaked.
  void push(PyObject* object) noexcept;

  // Whether there is something to drop: one load.
  bool pending() const noexcept { return pending_.load(std::memory_order_relaxed); }
  // Drops everything. With the GIL held; runs finalisers.
  void drain_with_gil_held() noexcept;

 private:
  std::mutex mutex_;  // a leaf: guards objects_
  std::vector<PyObject*> objects_;
  std::atomic<bool> pending_{false};
};

}  // namespace opyard::python
