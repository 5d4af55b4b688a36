// operators/gc_visible_functions.h: garbage collection of a library's Python kernels.
//
// A kernel keeps a function, and the function its module's variables, the library among them: a
// cycle through C++ that the garbage collector does not see. While Python runs that is intended,
// since a kernel stays registered until its library ends. When Python ends, the library shows the
// collector the functions that it keeps. So the cycle is found and broken, and modules that
// registered something do not outlive their interpreter.
//
// Depends on: python/python.h.
#pragma once

#include "opyard/detail/python/python.h"

#include <atomic>
#include <memory>
#include <vector>

namespace opyard::python {

// The reference of one kernel: null before it is taken, and from then on when it is given back,
// which any thread may do. Shared by the kernel and its library.
using GcVisibleFunction = std::shared_ptr<std::atomic<PyObject*>>;

// Those of one library. With the GIL held.
class GcVisibleFunctions {
 public:
  // A place for the next kernel's function, which is empty as yet.
  GcVisibleFunction add() {
    if (places_.size() == places_.capacity()) {
      std::erase_if(places_, [](const GcVisibleFunction& place) { return place.use_count() == 1; });
    }
    return places_.emplace_back(std::make_shared<std::atomic<PyObject*>>(nullptr));
  }

  int visit(visitproc visit, void* arg) const {
    for (const GcVisibleFunction& place : places_) Py_VISIT(place->load(std::memory_order_acquire));
    return 0;
  }

 private:
  std::vector<GcVisibleFunction> places_;
};

}  // namespace opyard::python
