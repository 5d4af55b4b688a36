// opyard/tensor/shallow_copy.h: another tensor on the same memory, made by who defines the first.
//
//   Tensor other = shallow_copy(tensor);
//
// A copy that C++ makes of a tensor has no class. If a class of an interpreter handles the tensor's
// operators, the tensor's memory is not all of it, and the copy is made by that class: through
// Interpreter::detach() of the tensor's tag, which its handler sees as one aten::detach. C++ copies
// all others, and while a handler has switched handlers off (the key Python is excluded).
//
// Depends on: interpreter/interpreter.h, keys/local.h, tensor/tensor.h.
#pragma once

#include "opyard/tensor/tensor.h"

namespace opyard {

// Without history; what C++ copies keeps the marks of the tensor. Raises what the class raises, and
// BadReturn if it gives the tensor itself.
OPYARD_API Tensor shallow_copy(const Tensor& tensor);
// That of the class; undefined if C++ is to make it.
OPYARD_API Tensor copy_by_class(const Tensor& tensor);

}  // namespace opyard
