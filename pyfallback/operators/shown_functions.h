// operators/shown_functions.h: the Python functions of a library's kernels, as Python's collector may see them.
//
// A kernel keeps a function, and a function its module's variables, the library among them: a circle through
// C++, of which the collector sees nothing. While Python runs that is meant, since a kernel stands until
// its library is taken back. When Python ends, the library shows the functions that it keeps, so that the
// circle is found and taken apart, and no interpreter leaves the modules behind that registered something.
//
// Depends on: runtime/python.h.
#pragma once

#include "runtime/python.h"

#include <atomic>
#include <memory>
#include <vector>

namespace opyard::python {

// The reference of one kernel: null before it is taken, and from then on when it is given back, which any
// thread may do. Shared by the kernel and its library.
using ShownFunction = std::shared_ptr<std::atomic<PyObject*>>;

// Those of one library. With the GIL held.
class ShownFunctions {
 public:
  // A place for the next kernel's function, which is empty as yet.
  ShownFunction add() {
    if (places_.size() == places_.capacity()) {
      std::erase_if(places_, [](const ShownFunction& place) { return place.use_count() == 1; });
    }
    return places_.emplace_back(std::make_shared<std::atomic<PyObject*>>(nullptr));
  }

  int visit(visitproc visit, void* arg) const {
    for (const ShownFunction& place : places_) Py_VISIT(place->load(std::memory_order_acquire));
    return 0;
  }

 private:
  std::vector<ShownFunction> places_;
};

}  // namespace opyard::python
