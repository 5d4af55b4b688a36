// tensor/dlpack_view.h: DLTensors that are borrowed for a call, both ways.
//
// Depends on: tensor/dlpack.h.
#pragma once

#include "opyard/tensor/dlpack.h"

namespace opyard {

// What a callee may look at while `tensor` lives and stands still. Shape and strides lie in the
// tensor: nobody may write to them. Raises what dlpack_device_of() raises.
dlpack::DLTensor view_as_dlpack(const Tensor& tensor);

// A tensor on memory that its caller lends, and has to outlive it. Raises what from_dlpack() raises.
Tensor lend_dlpack(const dlpack::DLTensor& array, bool read_only);

}  // namespace opyard
