// model/model_file.h: models in our own form: a safetensors file with the graph's text as metadata.
//
// [Formats] What is written is format 3:
//   tensors    the state by name, and "opyard.constant.N", the value of the Nth <Tensor> in
//              the text
//   metadata   opyard.format   "3"; a change of the form is another number
//              opyard.graph    the text
//              opyard.model    JSON: {"state": [[name, is_parameter, same_as], …], "constants": N,
//                              "inputs": [{"name", "dtype", "sizes", "constant"}, …],
//                              "ranges": {name: [least, most]}, "input_tree", "output_tree"}
//
// A size is a number, a name, an expression of both, ["mul", 2, "n"], or null if nothing is known
// of it. `same_as` is null, or a name before it, whose tensor this one is: then it has none in the
// file. In format 2 there was no such member, and in format 1 expressions were null, too, and ints
// had no size.
//
// Depends on: files/file_bytes.h, models/model.h.
#pragma once

#include "files/file_bytes.h"
#include "opyard/models/model.h"

namespace opyard::jit {

Model load_saved_model(FileBytes& bytes, const ModelOptions& options);

}  // namespace opyard::jit
