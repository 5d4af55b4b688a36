// files/mapped_file.h: a file's bytes in memory without reading them, and tensors on these bytes.
//
// The map is private and may be written: who writes a tensor gets pages of their own, and the file
// never changes. What shortens or rewrites the file in place while it is mapped breaks the tensors
// in it (an access past the new end ends the process), so files are replaced by renaming, as
// write_file() does.
//
// Threads: constant once it is open.
//
// Depends on: tensor/tensor.h.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "opyard/tensor/tensor.h"

namespace opyard::jit {

class MappedFile final : public Counted {
 public:
  // Raises NotFound for a file that is not there, BadValue for one that is no plain file or cannot
  // be read.
  static CountedPtr<MappedFile> open(const std::string& path);

  // Some of a file's bytes as a file of its own, which keeps the whole; the caller has checked that
  // they are in it.
  static CountedPtr<MappedFile> part(CountedPtr<MappedFile> whole, std::size_t offset,
                                     std::size_t bytes, std::string path);

  const std::string& path() const noexcept { return path_; }
  std::string_view bytes() const noexcept { return {data_, size_}; }

  // A tensor of any geometry that stays within `room` bytes from `offset`, which the caller has
  // checked to be in the file. Raises BadValue for geometry that does not; `what` names the tensor.
  Tensor strided_at(const std::string& what, std::size_t offset, std::size_t room, DType dtype,
                    IntSpan sizes, IntSpan strides);
  // A contiguous tensor on the bytes from `offset`, which the caller has checked to be in the file.
  // Keeps the map. If the address is not one for elements of this size, a copy.
  Tensor tensor_at(std::size_t offset, std::size_t bytes, DType dtype, IntSpan sizes);

 private:
  explicit MappedFile(std::string path) : path_(std::move(path)) {}
  ~MappedFile() override;

  const std::string path_;
  CountedPtr<MappedFile> whole_;  // null: the map is its own
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

// A contiguous tensor with a copy of these bytes.
Tensor tensor_of_bytes(std::string_view bytes, DType dtype, IntSpan sizes);

// The bytes that elements of these sizes have. Raises BadValue for a negative size and for more
// bytes than can be; `what` names the tensor.
std::size_t byte_count(const std::string& what, DType dtype, IntSpan sizes);

// The pieces one behind the other as the file's new contents: written beside it and renamed, so
// that who has the old file open or mapped keeps it, and a failure leaves it. Raises BadValue.
void write_file(const std::string& path, std::span<const std::string_view> pieces);

}  // namespace opyard::jit
