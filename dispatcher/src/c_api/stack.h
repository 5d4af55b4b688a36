// c_api/stack.h: stack of a call as a C function sees it.
//
// A kernel in C is given a window that begins with its arguments. It pushes its results above them;
// or it hands the arguments on, and what the call leaves in their place are its results. So the
// window remembers how many of the arguments are still there: as few as it ever was.
//
//   base              base + arguments           top
//     │ arg 0  …  arg n-1 │  what was pushed      │
//
// Depends on: value/stack.h.
#pragma once

#include <algorithm>
#include <cstddef>

#include "opyard/value/stack.h"

struct opyard_stack {
  opyard::Stack& values;
  const std::size_t base;
  std::size_t arguments;

  std::size_t size() const noexcept { return values.size() - base; }
  // The topmost values were taken away, down to this many.
  void sank_to(std::size_t size) noexcept { arguments = std::min(arguments, size); }
  // Raises BadArgument if there are fewer.
  void require(std::size_t count, const char* what) const;
};

namespace opyard::c_api {

// One that a C program made.
struct OwnedStack : opyard_stack {
  OwnedStack() : opyard_stack{memory, 0, 0} {}
  Stack memory;
};

}  // namespace opyard::c_api
