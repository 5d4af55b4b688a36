// autograd/functions/calls.h: the operators that this library calls itself.
//
// They are the operator plugin's; if that is not loaded the error names it.
//
// Depends on: registry/typed.h.
#pragma once

#include "opyard/autograd/tensor_state.h"
#include "opyard/detail/registry/typed.h"

namespace opyard::autograd::calls {

// Whether the plugin is loaded.
bool are_there();
Tensor add(const Tensor& a, const Tensor& b);
void add_in_place(Tensor& a, const Tensor& b);
Tensor clone(const Tensor& tensor);
// A view of the whole.
Tensor alias(const Tensor& tensor);
Tensor empty_like(const Tensor& tensor);
Tensor expand(const Tensor& tensor, IntSpan sizes);
// Writes one to the other.
void copy_in_place(const Tensor& to, const Tensor& from);
void zero_in_place(const Tensor& tensor);
Tensor contiguous_copy(const Tensor& tensor);
Tensor zeros(const Expected& like);
Tensor ones_like(const Tensor& tensor);
Tensor to_dtype(const Tensor& tensor, DType dtype);
Tensor to_device(const Tensor& tensor, Device device);
// Of a complex tensor; a view.
Tensor real_part(const Tensor& tensor);
// The sum over dimensions that were broadcast.
Tensor sum_to(const Tensor& tensor, IntSpan sizes);
bool has_nan(const Tensor& tensor);

// Between a row of elements and a tensor of some of them, which may be complex. Row and geometry:
// tensor_state.h. See kernels/src/gradients/derivatives.cpp.
Tensor gather_strided(const Tensor& row, const Geometry& at);
Tensor scatter_strided(const Tensor& values, std::int64_t count, const Geometry& at);
Tensor replace_strided(const Tensor& row, const Tensor& values, const Geometry& at);

}  // namespace opyard::autograd::calls
