// opyard/models/npy.h: one tensor in a file of NumPy's .npy format, read and written without NumPy.
//
// A file is a magic number, a version, a header that says dtype, order and sizes, and the bytes.
// Rows first or columns first, little-endian; objects, which are pickled,
// and records are refused.
//
// Depends on: tensor/tensor.h.
#pragma once

#include <string>

#include "opyard/tensor/tensor.h"

namespace opyard::jit {

// Raises NotFound for no file, BadValue for one that is not of the format, Unsupported for a dtype
// or an order of bytes that is not here.
OPYARD_API Tensor load_npy(const std::string& path);

// Replaces the file at once. Raises Unsupported for a dtype that NumPy does not have and a tensor
// that is not memory of the CPU, BadValue for a file that cannot be written.
OPYARD_API void save_npy(const Tensor& tensor, const std::string& path);

}  // namespace opyard::jit
