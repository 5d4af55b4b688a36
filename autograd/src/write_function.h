// autograd/write_function.h: histories of memory on which there are several tensors.
//
//   row' = write(row, value)       one of the tensors on a storage was written in place
//   x    = x.geometry of row'      what each of them is from then on (FromStorage)
//
// `row` is all of the storage as one row of elements. The gradient of row' goes to the row of
// before for elements that were not written, and through the function of the call for those that
// were.
//
// Depends on: autograd/tensor_state.h.
#pragma once

#include "opyard/autograd/tensor_state.h"

namespace opyard::autograd {

// After a recorded call has written `written`: `function` is that of the call, whose input `input`
// is the gradient of what it wrote, and whose edge `own` is the one to what `written` was before
// (-1: none).
void record_write(const Tensor& written, FunctionPtr function, std::uint32_t input);

// Before such a call: makes the storage's history begin with that of `written` if it is needed, so
// that edge_of(written) leads there. Whether the write concerns the storage.
bool begin_write(const Tensor& written);

}  // namespace opyard::autograd
