// objects/tensor/leak_check.h: what is left when the interpreter has ended, for whoever asks for it.
//
// With OPYARD_LEAKCHECK=1 in the environment, what lives is written down as it comes and goes: wrappers of
// tensors, libraries with the operators that they define, Python functions that C++ keeps. What is
// left after the interpreter has ended stands on stderr then, and nothing stands there where nothing
// is. Libraries that live when the end begins are taken back then, since a kernel of a module keeps that
// module's variables, its library among them. Without it, this is one pointer that is null, and no call looks at it: only where memory is
// allocated, and where something is registered.
//
// Depends on: nothing of ours.
#pragma once

#include "runtime/python.h"

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

// Null where nobody asked.
inline constinit LeakCheck* leak_check = nullptr;

// Looks at the environment. With the GIL held; once counts.
void begin_leak_check();

}  // namespace opyard::python
