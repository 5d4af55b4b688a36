// kernels/strides.h: whether a tensor can be seen with other sizes without copying it.
//
// Depends on: opyard/tensor.h.
#pragma once

#include <optional>

#include "opyard/tensor.h"

namespace opyard::kernels {

// The strides with which the tensor's elements, in row-major order, appear under `sizes`, or
// nothing where no strides do that. `sizes` hold as many elements as the tensor.
std::optional<DimVector> find_view_strides(const Tensor& tensor, IntSpan sizes);

}  // namespace opyard::kernels
