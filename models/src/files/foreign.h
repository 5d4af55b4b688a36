// files/foreign.h: detection of foreign file formats, for errors that name them.
//
// For messages of errors only: what a file says it is may not be so.
//
// Depends on: files/file_bytes.h.
#pragma once

#include <string>

#include "files/file_bytes.h"

namespace opyard::jit {

// "PyTorch's archive of torch.save(); load it with …", by the file's first bytes and the names in
// it; empty for one that is not known.
std::string describe_foreign(const FileBytes& file);

}  // namespace opyard::jit
