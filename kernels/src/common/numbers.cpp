// kernels/common/numbers.cpp: refusals of dtypes and of numbers of dimensions.
#include "common/numbers.h"

#include "common/copy.h"

namespace opyard::kernels {

void require_floats(const char* op, const char* argument, const Tensor& tensor) {
  require_cpu(op, argument, tensor);
  require_float_dtype(op, argument, tensor);
}

void require_float_dtype(const char* op, const char* argument, const Tensor& tensor) {
  require_defined(op, argument, tensor);
  if (!is_floating_point(tensor.dtype())) {
    refuse(ErrorKind::Unsupported,
           {op, ": ", argument, " is ", tensor,
            "; accepted are float16, bfloat16, float32 and float64, to which aten::to.dtype "
            "converts"});
  }
}

void require_numbers(const char* op, const char* argument, const Tensor& tensor) {
  require_cpu(op, argument, tensor);
  if (!is_floating_point(tensor.dtype()) && !is_integral(tensor.dtype())) {
    refuse(ErrorKind::Unsupported,
           {op, ": ", argument, " is ", tensor,
            "; accepted are integers and floats, to which aten::to.dtype converts"});
  }
}

Tensor in_carrier(const char* op, const Tensor& tensor) {
  if (tensor.dtype() == DType::UInt64) {
    refuse(ErrorKind::Unsupported, {op, ": the tensor is ", tensor,
                                    "; accepted are the other dtypes, to which "
                                    "aten::to.dtype converts"});
  }
  return converted(op, tensor, carrier_of(tensor.dtype()));
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
