// xla/arrays.h: arrays of XLA as DLPack describes them, and results as arrays of XLA.
#pragma once

#include "opyard/tensor/dlpack.h"
#include "xla/abi.h"

namespace opyard::xla {

// On the array's memory, row-major. Raises Unsupported for an element type that no tensor has.
dlpack::DLTensor describe_array(const Buffer& array);

// Copies a result into an array of its sizes, which has the same elements, or those of half the
// width if JAX has 64-bit types off. Raises BadReturn for others.
void write_array(const Buffer& array, const Tensor& result);

}  // namespace opyard::xla
