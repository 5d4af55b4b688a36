// objects/tensor/leak_check.h: leak report at the end of an interpreter.
//
// With OPYARD_LEAKCHECK=1 in the environment, objects are noted while they live: wrappers of
// tensors, libraries with the operators that they define, Python functions that C++ keeps. After
// the interpreter has ended, those that are left are printed to stderr; if none are, nothing is
// printed. Libraries that are alive when the end begins are ended first, since a kernel keeps its
// module's variables, the library among them. Without the variable this is a null pointer. Calls
// never look at it; allocating and registering do.
//
// Depends on: nothing of ours.
#pragma once

#include "opyard/detail/python/python.h"

#include <string>
#include <vector>

namespace opyard::python {

class LeakCheck {
 public:
  enum class Kind { Tensor, Library, Function };

  // Any thread.
  void add(Kind kind, const void* object, std::string text) noexcept;
  void note(const void* object, const std::string& more) noexcept;  // in brackets behind its text
  void remove(const void* object) noexcept;

  std::vector<const void*> objects(Kind kind) const;

  // To stderr. After the interpreter has ended.
  void report() const noexcept;
};

// Null without OPYARD_LEAKCHECK.
inline constinit LeakCheck* leak_check = nullptr;

// Reads the environment, once. With the GIL held.
void begin_leak_check();

}  // namespace opyard::python
