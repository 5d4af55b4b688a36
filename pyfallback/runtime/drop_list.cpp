// runtime/drop_list.cpp: putting references aside, and dropping them.
#include "runtime/drop_list.h"

#include <new>

namespace opyard::python {

void DropList::push(PyObject* object) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    objects_.push_back(object);
    pending_.store(true, std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {
    static_cast<void>(object);  // leaked: nothing may be dropped without the GIL
  }
}

void DropList::drain_with_gil_held() noexcept {
  std::vector<PyObject*> objects;
  {
    const std::lock_guard lock(mutex_);
    objects.swap(objects_);
    pending_.store(false, std::memory_order_relaxed);
  }
  // Without the lock: a finaliser may drop further references.
  for (PyObject* object : objects) Py_DECREF(object);
}

}  // namespace opyard::python
