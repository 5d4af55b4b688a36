// kernels/neural/wide_floats.h: the check of operators that compute in float32 and float64 alone.
//
// visit_floats() takes what is not float32 for float64, so halves have to be converted or refused
// before it: as float64 they would be read and written beyond their memory.
//
// Depends on: common/numbers.h.
#pragma once

#include "common/numbers.h"

namespace opyard::kernels {

inline void require_wide_floats(const char* op, const char* argument, const Tensor& tensor) {
  require_floats(op, argument, tensor);
  if (tensor.dtype() != DType::Float32 && tensor.dtype() != DType::Float64) {
    refuse(ErrorKind::Unsupported,
           {op, ": ", argument, " is ", tensor,
            "; accepted are float32 and float64, to which aten::to.dtype converts"});
  }
}

}  // namespace opyard::kernels
