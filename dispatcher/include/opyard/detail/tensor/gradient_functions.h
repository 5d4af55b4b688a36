// opyard/detail/tensor/gradient_functions.h: functions by which tensors ask for
// their gradients.
//
// A view in C++ of a tensor that needs a gradient would lose it: whether it does is asked.
//
// A hook of a tensor, and a backward in Python, may lead back to the tensor: a cycle that passes
// through C++, which the interpreter's garbage collector follows by visit() and clear().
//
// Depends on: tensor/tensor_impl.h.
#pragma once

#include <atomic>

#include "opyard/base/export.h"
#include "opyard/tensor/tensor_impl.h"

namespace opyard {

class Tensor;

namespace detail {

struct GradientFunctions {
  // Whether a gradient flows through the tensor.
  bool (*needs)(const Tensor& tensor) noexcept;
  // See opyard/autograd.h: is_leaf(), gradient_of(), set_gradient().
  bool (*is_leaf)(const Tensor& tensor);
  Tensor (*gradient)(const Tensor& tensor);
  void (*set_gradient)(const Tensor& tensor, const Tensor& gradient);
  // Takes away the hooks that were added to the tensor.
  void (*reset_hooks)(const Tensor& tensor);

  // With the interpreter's lock held, and for a tensor that its wrapper alone owns. `interpreter`
  // is the tag: objects of others are left out.
  //
  // Shows the objects that nothing but this tensor keeps, until visit gives another number than 0.
  int (*visit)(const TensorImpl& tensor, const void* interpreter,
               int (*visit)(void* object, void* argument), void* argument);
  // Drops them: no reference to the tensor is left.
  void (*clear)(const TensorImpl& tensor, const void* interpreter);
};
// Null until the library of the tape is loaded.
extern OPYARD_API constinit std::atomic<const GradientFunctions*> gradient_functions;

}  // namespace detail
}  // namespace opyard
