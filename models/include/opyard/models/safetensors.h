// opyard/models/safetensors.h: named tensors in a file of the safetensors format.
//
//   save_tensors("model.safetensors", {{"weight", w}, {"bias", b}});
//   for (const NamedTensor& each : load_tensors("model.safetensors").tensors) …
//
// The file is 8 bytes of length, a header in JSON with name, dtype, sizes and place of each tensor,
// and their bytes without a hole. Its tensors share one block of memory, or are the mapped file:
// then one takes memory of its own when it is written, and the file never changes.
//
// Whatever a file says is checked before a tensor is made: sizes against bytes, places against the
// file and each other, names, dtypes, the depth and length of the header.
//
// Depends on: models/file_access.h, tensor/tensor.h.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "opyard/models/file_access.h"
#include "opyard/tensor/tensor.h"

namespace opyard::jit {

// A tensor of a file by its name.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

struct TensorFile {
  std::vector<NamedTensor> tensors;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
};

// Raises NotFound for no file, and BadValue for one that is not of the format, saying what is
// wrong.
OPYARD_API TensorFile load_tensors(const std::string& path, FileAccess access = FileAccess::Read);

// The file is replaced at once when all is written. Tensors keep their order but for those with
// greater elements, which are first. Strided tensors are written row-major; two that share memory
// are written twice. Raises BadValue for a name that is given twice, is not UTF-8 or is
// "__metadata__", and for a file that cannot be written; Unsupported for a tensor that is not
// memory of the CPU.
OPYARD_API void save_tensors(const std::string& path, std::span<const NamedTensor> tensors,
                             const std::map<std::string, std::string>& metadata = {});

}  // namespace opyard::jit
