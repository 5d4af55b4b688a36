// opyard/detail/autograd/write.h: writes in place that are taped.
//
//   row' = write(row, value)       one of the tensors on a storage was written in place
//   x    = x.geometry of row'      what each of them is from then on
//
// `row` is all of the storage as one row of elements. The gradient of row' goes to the row of
// before for elements that were not written, and through the function of the call for those that
// were.
//
//   if (const char* why = write_refusal(x, true)) …
//   begin_write(x);
//   … edges are taken, x is written …
//   tape_write(x, function, function->add_input(x));
//
// Depends on: autograd/tensor_state.h.
#pragma once

#include "opyard/autograd/tensor_state.h"

namespace opyard::autograd {

// Why a tensor must not be written with gradients on; null if it may be. `any_needs`: some tensor
// of the call needs a gradient. `of_elements`: false if only sizes and strides change.
OPYARD_API const char* write_refusal(const Tensor& tensor, bool any_needs, bool of_elements = true);

// Before the edges of a call that writes are taken: makes the storage's history begin with that of
// `written` if it is needed, so that edge_of(written) leads there. Whether the write concerns the
// storage.
OPYARD_API bool begin_write(const Tensor& written);

// After a taped call has written `written`: `function` is that of the call, whose input `input`
// is the gradient of what it wrote. Raises Unsupported if the storage's history is of another
// dtype.
OPYARD_API void tape_write(const Tensor& written, FunctionPtr function, std::uint32_t input);

}  // namespace opyard::autograd
