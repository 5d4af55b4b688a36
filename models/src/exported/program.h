// exported/program.h: programs of torch.export: their archive, and their graph.
//
// Depends on: files/json.h, exported/zip.h, models/model.h.
#pragma once

#include <string>

#include "exported/zip.h"
#include "files/json.h"
#include "opyard/models/model.h"

namespace opyard::jit {

// Reads an archive of torch.export.save(). Raises as load_model().
Model load_exported(CountedPtr<FileBytes> file, const ModelOptions& options);

// The element type with this number in a program. Raises Unsupported for one that is not here.
DType require_exported_dtype(const Json& number, const std::string& what);

// Fills in graph, inputs, ranges and trees from the program; the state has no tensors yet. Raises
// Unsupported with one list of all that cannot run.
Model convert_program(const Json& program, const std::string& what);

}  // namespace opyard::jit
