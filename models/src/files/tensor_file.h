// files/tensor_file.h: the tensors of a safetensors file whose bytes are in memory already.
//
// Depends on: files/file_bytes.h, models/safetensors.h.
#pragma once

#include "files/file_bytes.h"
#include "opyard/models/safetensors.h"

namespace opyard::jit {

// Raises as load_tensors().
TensorFile tensors_in(FileBytes& file);

}  // namespace opyard::jit
