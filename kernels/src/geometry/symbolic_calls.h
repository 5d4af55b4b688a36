// kernels/geometry/symbolic_calls.h: compositions called with symbolic ints.
//
//   m.impl("repeat", Kernel::with_symbolic<&repeat, &symbolic_repeat>());
//
// The kernels of compositions take plain ints. These are for calls with symbolic ones: they call
// the same parts, which take SymInts, so that modes and wrappers see them and tensors on meta get
// symbolic sizes. They decide nothing but what is said here.
//
// Depends on: opyard/library.h.
#pragma once

#include <opyard/library.h>

namespace opyard::kernels {

void symbolic_reshape(const Operator& op, DispatchKeySet keys, Stack& stack);
void symbolic_unflatten(const Operator& op, DispatchKeySet keys, Stack& stack);
// repeat, tile
void symbolic_repeat(const Operator& op, DispatchKeySet keys, Stack& stack);
// Decides the number of parts.
void symbolic_split(const Operator& op, DispatchKeySet keys, Stack& stack);
// split.sizes, split_with_sizes
void symbolic_split_sizes(const Operator& op, DispatchKeySet keys, Stack& stack);
void symbolic_tensor_split(const Operator& op, DispatchKeySet keys, Stack& stack);
// new_empty and its like: the operator without self, called with self's dtype and device.
void symbolic_new(const Operator& op, DispatchKeySet keys, Stack& stack);
void symbolic_empty_permuted(const Operator& op, DispatchKeySet keys, Stack& stack);
// select_scatter, slice_scatter
void symbolic_scatter(const Operator& op, DispatchKeySet keys, Stack& stack);

// The rest have results of known sizes on meta only, and decide for other tensors.
//
// pad, and the operators that it calls.
void symbolic_pad(const Operator& op, DispatchKeySet keys, Stack& stack);
// The last sizes of the result are `output_size`.
void symbolic_output_size(const Operator& op, DispatchKeySet keys, Stack& stack);
// The ints tell nothing of the result's sizes: a diagonal, shifts, an index that is left out.
void symbolic_elsewhere(const Operator& op, DispatchKeySet keys, Stack& stack);

// Decides all of them, as a stride or a number of groups, and calls the kernel for plain ints.
void decide_symbolic(const Operator& op, DispatchKeySet keys, Stack& stack);

}  // namespace opyard::kernels
