// kernels/blocks/files.h: files of operators as the build reads them, and faults with places.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/jit/operator_file.h"

namespace opyard::blocks {

struct OperatorSource {
  std::string path;    // to open it
  std::string shown;   // from the root of the project: "kernels/operators/special.ops"
  std::string family;  // "special"
  jit::OperatorFile file;
};

// What ends the build: "file:line:column: what is wrong".
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string read_text(const std::string& path);
// Leaves a file alone that has this text.
void write_text(const std::string& path, const std::string& text);

// Raises Fault for what does not parse, and for an operator that two files have.
std::vector<OperatorSource> read_sources(const std::vector<std::string>& paths);

[[noreturn]] void fail_at(const OperatorSource& source, const jit::PlacedText& text,
                          std::string_view what);
// For an error that begins with the place in a formula or body: "the body of f:2:7: …".
[[noreturn]] void fail_inside(const OperatorSource& source, const jit::PlacedText& text,
                              std::string_view error);

}  // namespace opyard::blocks
