// exported/example.h: the inputs that a program was exported with, which its archive has.
//
// They are a pickle in an archive of their own. It is decoded by fixed steps: tensors, containers,
// numbers, texts and None are made, and no name in it is looked up or called.
//
// Depends on: exported/zip.h, models/model.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "exported/zip.h"
#include "opyard/models/model.h"

namespace opyard::jit {

// Flat, in the order of the model's inputs, which they fit. Nothing for an archive without an entry
// of this name, or if the example has what is none of the above. Raises BadValue for an entry that
// is broken, and for an example that does not fit.
std::optional<std::vector<opyard::Value>> read_example(const ZipArchive& archive,
                                                       const std::string& entry,
                                                       const Model& model);

}  // namespace opyard::jit
