// files/model_file.h: models in our own form: a safetensors file with the graph's text as metadata.
//
// [Format 1]
//   tensors    the state by name, and "opyard.constant.N", the value of the Nth <Tensor> in
//              the text
//   metadata   opyard.format   "1"; a change of the form is another number
//              opyard.graph    the text
//              opyard.model    JSON: {"state": [[name, is_parameter], …], "constants": N,
//                              "inputs": [{"name", "dtype", "sizes", "constant"}, …],
//                              "ranges": {name: [least, most]}, "input_tree", "output_tree"}
//
// Depends on: jit/files/model.h.
#pragma once

#include "opyard/jit/files/model.h"

namespace opyard::jit {

Model load_saved_model(const std::string& path, const ModelOptions& options);

}  // namespace opyard::jit
