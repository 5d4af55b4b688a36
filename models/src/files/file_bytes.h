// files/file_bytes.h: a file's bytes in memory, read or mapped, and tensors on these bytes.
//
// Bytes that were read are in one block, which lives as long as a tensor on it. A map is private
// and may be written: who writes a tensor gets pages of their own, and the file never changes. What
// may happen to mapped tensors is in models/file_access.h.
//
// Threads: constant once it is open.
//
// Depends on: models/file_access.h, tensor/tensor.h.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "opyard/models/file_access.h"
#include "opyard/tensor/tensor.h"

namespace opyard::jit {

class FileBytes final : public Counted {
 public:
  // Raises as fail_file() for a file that is not there, is a folder or cannot be read, BadValue for
  // another one that is no plain file. While it is read other threads of an interpreter may run,
  // and it may be interrupted.
  static CountedPtr<FileBytes> open(const std::string& path, FileAccess access);

  // Some of a file's bytes as a file of its own, which keeps the whole; the caller has checked that
  // they are in it.
  static CountedPtr<FileBytes> part(CountedPtr<FileBytes> whole, std::size_t offset,
                                    std::size_t bytes, std::string path);
  // A file of its own with a copy of these bytes, at an address for elements of every dtype.
  static CountedPtr<FileBytes> copy(std::string_view bytes, std::string path);

  const std::string& path() const noexcept { return path_; }
  std::string_view bytes() const noexcept { return {data_, size_}; }

  // A tensor of any geometry that stays within `room` bytes from `offset`, which the caller has
  // checked to be in the file, at an address for its elements. Raises BadValue for geometry that
  // does not; `what` names the tensor.
  Tensor strided_at(const std::string& what, std::size_t offset, std::size_t room, DType dtype,
                    IntSpan sizes, IntSpan strides);
  // A contiguous tensor on the bytes from `offset`, which the caller has checked to be in the file.
  // Keeps the bytes. If the address is not one for elements of this size, a copy.
  Tensor tensor_at(std::size_t offset, std::size_t bytes, DType dtype, IntSpan sizes);

 private:
  explicit FileBytes(std::string path) : path_(std::move(path)) {}
  ~FileBytes() override;

  const std::string path_;
  CountedPtr<FileBytes> whole_;  // null: the bytes are its own
  FileAccess access_ = FileAccess::Read;
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

// A contiguous tensor with a copy of these bytes.
Tensor tensor_of_bytes(std::string_view bytes, DType dtype, IntSpan sizes);

// The bytes that elements of these sizes have. Raises BadValue for a negative size and for more
// bytes than can be; `what` names the tensor.
std::size_t byte_count(const std::string& what, DType dtype, IntSpan sizes);

// The pieces one behind the other as the file's new contents: written beside it and renamed, so
// that who has the old file open or mapped keeps it, and a failure leaves it. Raises as
// fail_file().
void write_file(const std::string& path, std::span<const std::string_view> pieces);

}  // namespace opyard::jit
