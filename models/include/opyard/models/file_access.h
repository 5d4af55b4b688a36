// opyard/models/file_access.h: file access: tensors read into memory, or mapped.
//
// A mapped file is loaded in no time, whatever its size, and processes that map the same file share
// its memory. But its bytes are looked up when they are used: a program that shortens the file
// meanwhile ends the process with a bus error, and one that writes it in place changes the tensors.
// A file that is replaced by renaming another one, as save_tensors() does, does neither.
//
// Depends on: nothing.
#pragma once

#include <cstdint>

namespace opyard::jit {

// Whether a file is read into memory, or mapped, so that processes share what is not written.
enum class FileAccess : std::uint8_t { Read, Mapped };

}  // namespace opyard::jit
