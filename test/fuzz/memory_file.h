// test/fuzz/memory_file.h: bytes as a file that has a path and is on no disk, and a model from it.
//
// Depends on: models/model.h.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "entries.h"
#include "opyard/base/error.h"
#include "opyard/models/model.h"

namespace opyard::fuzz {

class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes = {}) : number_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    require(number_ >= 0, "a file in memory can be made");
    while (!bytes.empty()) {
      const ssize_t written = ::write(number_, bytes.data(), bytes.size());
      require(written > 0, "a file in memory can be written");
      bytes.remove_prefix(std::size_t(written));
    }
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(number_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(number_); }

 private:
  const int number_;
};

// Reads a stranger's model. Nothing for bytes that are none, which a few kinds of errors say.
inline std::optional<jit::Model> load_bytes(std::string_view bytes) {
  const MemoryFile file(bytes);
  try {
    return jit::load_model(file.path());
  } catch (const Error& error) {
    const ErrorKind kind = error.kind();
    require(kind == ErrorKind::BadValue || kind == ErrorKind::Unsupported ||
                kind == ErrorKind::BadGraph,
            "what is wrong with a file is BadValue, Unsupported or BadGraph");
    return std::nullopt;
  }
}

// What holds of every model that was read.
inline void check_model(const jit::Model& model) {
  jit::lint(*model.graph);
  require(model.graph->is_restricted(), "a stranger's graph is restricted");
  require(model.code != nullptr, "a model that was read is compiled");
  for (const jit::StateTensor& each : model.state) {
    require(each.tensor.defined(), "a model that was read has all its weights");
  }
  if (model.example) jit::check_inputs(model, *model.example);
}

}  // namespace opyard::fuzz
