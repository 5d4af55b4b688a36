// runtime/owned.h: Owned: a Python reference that must be released.
//
//   Owned::steal(f())      for API functions that return a new reference
//   Owned::share(borrowed) for API functions that give a borrowed one
//
// The destructor needs the GIL, so an Owned lives in a scope that holds it. References that
// C++ objects keep go through the interpreter tag instead (interpreter/interpreter.h).
//
// Depends on: python/exit.h.
#pragma once

#include "opyard/detail/python/python.h"

#include <utility>

#include "opyard/detail/python/exit.h"

namespace opyard::python {

class Owned {
 public:
  Owned() noexcept = default;
  Owned(Owned&& other) noexcept : object_(other.release()) {}
  Owned(const Owned&) = delete;
  Owned& operator=(Owned other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owned() {
    if (object_ != nullptr) drop_reference(object_);
  }

  static Owned steal(PyObject* object) noexcept {
    Owned owned;
    owned.object_ = object;
    return owned;
  }
  static Owned share(PyObject* object) noexcept {
    Py_XINCREF(object);
    return steal(object);
  }

  PyObject* get() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  [[nodiscard]] PyObject* release() noexcept { return std::exchange(object_, nullptr); }

 private:
  PyObject* object_ = nullptr;
};

}  // namespace opyard::python
