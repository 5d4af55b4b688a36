// opyard/detail/tensor/gradient_objects.h: objects of an interpreter that gradients hold.
//
// A hook of a tensor, and a backward in Python, may lead back to the tensor: a cycle that passes
// through C++, which the interpreter's garbage collector follows by these functions. Whoever
// records gradients gives them.
//
// Depends on: tensor/tensor_impl.h.
#pragma once

#include <atomic>

#include "opyard/base/export.h"
#include "opyard/tensor/tensor_impl.h"

namespace opyard::detail {

// With the interpreter's lock held, and for a tensor that its wrapper alone owns. `interpreter` is
// the tag: objects of others are left out.
struct GradientObjects {
  // Shows the objects that nothing but this tensor keeps, until visit gives another number than 0.
  int (*visit)(const TensorImpl& tensor, const void* interpreter,
               int (*visit)(void* object, void* argument), void* argument);
  // Drops them: no reference to the tensor is left.
  void (*clear)(const TensorImpl& tensor, const void* interpreter);
};
extern OPYARD_API constinit std::atomic<const GradientObjects*> gradient_objects;

}  // namespace opyard::detail
