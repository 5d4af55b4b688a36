// kernels/common/numbers.cpp: refusals of dtypes and of numbers of dimensions.
#include "common/numbers.h"

namespace opyard::kernels {

void require_floats(const char* op, const char* argument, const Tensor& tensor) {
  require_cpu(op, argument, tensor);
  if (tensor.dtype() != DType::Float32 && tensor.dtype() != DType::Float64) {
    refuse(ErrorKind::Unsupported,
           {op, ": ", argument, " is ", tensor,
            "; accepted are float32 and float64, to which aten::to.dtype converts"});
  }
}

void require_numbers(const char* op, const char* argument, const Tensor& tensor) {
  require_cpu(op, argument, tensor);
  if (tensor.dtype() != DType::Int64) {
    if (tensor.dtype() == DType::Float32 || tensor.dtype() == DType::Float64) return;
    refuse(ErrorKind::Unsupported,
           {op, ": ", argument, " is ", tensor,
            "; accepted are int64, float32 and float64, to which aten::to.dtype converts"});
  }
}

void require_dims(const char* op, const char* argument, const Tensor& tensor, std::int64_t least,
                  std::int64_t most) {
  if (tensor.dim() >= least && tensor.dim() <= most) return;
  if (least == most) {
    refuse(ErrorKind::BadShape,
           {op, ": ", argument, " is ", tensor, "; ", least, " dimensions are needed"});
  }
  refuse(ErrorKind::BadShape,
         {op, ": ", argument, " is ", tensor, "; ", least, " to ", most, " dimensions are needed"});
}

}  // namespace opyard::kernels
