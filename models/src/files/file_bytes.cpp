// files/file_bytes.cpp: reading, mapping and atomic writing of files.
#include "files/file_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include <utility>

#include <fmt/format.h>

#include "opyard/base/alloc.h"
#include "opyard/base/error.h"
#include "opyard/base/file_error.h"
#include "opyard/detail/base/descriptor.h"
#include "opyard/interpreter/gil.h"
#include "opyard/interpreter/interruption.h"

namespace opyard::jit {
namespace {

using opyard::detail::Descriptor;

[[noreturn]] OPYARD_COLD void refuse(const char* what, const std::string& path) {
  const int number = errno;  // before anything else sets it
  fail_file(number, path, fmt::format("cannot {} {}", what, path));
}

DimVector contiguous_strides(IntSpan sizes) {
  DimVector strides(sizes.size(), 1);
  for (std::size_t dim = sizes.size(); dim-- > 1;) {
    strides[dim - 1] = strides[dim] * std::max<std::int64_t>(sizes[dim], 1);
  }
  return strides;
}

// Between two pieces it may be interrupted.
constexpr std::size_t kPiece = std::size_t{16} << 20;
constexpr std::size_t kBlockAlignment = 64;

void read_piece(int file, char* to, std::size_t bytes, const std::string& path) {
  while (bytes > 0) {
    const ssize_t count = ::read(file, to, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse("read", path);
    OPYARD_CHECK(
        count > 0, BadValue,
        fmt::format("{} was made shorter while it was read: {} bytes are missing", path, bytes));
    to += count;
    bytes -= std::size_t(count);
  }
}

void read_all(int file, char* to, std::size_t bytes, const std::string& path) {
  while (bytes > 0) {
    const std::size_t piece = std::min(bytes, kPiece);
    without_gil([&] { read_piece(file, to, piece, path); });
    check_interruption();
    to += piece;
    bytes -= piece;
  }
}

char* map_all(int file, std::size_t bytes, const std::string& path) {
  void* const data =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file, 0);
  if (data == MAP_FAILED) refuse("map", path);
  return static_cast<char*>(data);
}

void write_all(int file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = EIO;
    if (written <= 0) refuse("write", path);
    bytes.remove_prefix(std::size_t(written));
  }
}

}  // namespace

CountedPtr<FileBytes> FileBytes::open(const std::string& path, FileAccess access) {
  OPYARD_CHECK(path.find('\0') == std::string::npos, BadValue, "a path has no zero byte");
  // Not blocking, so that a pipe that no one writes is refused and not waited for.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) refuse("open", path);
  if (S_ISDIR(status.st_mode)) fail_file(EISDIR, path, "cannot open " + path);
  OPYARD_CHECK(S_ISREG(status.st_mode), BadValue, fmt::format("{} is no plain file", path));
  CountedPtr<FileBytes> opened = CountedPtr<FileBytes>::steal(new FileBytes(path));
  if (status.st_size == 0) return opened;
  const std::size_t size = std::size_t(status.st_size);
  opened->access_ = access;
  if (access == FileAccess::Mapped) {
    opened->data_ = map_all(file.number(), size, path);
    opened->size_ = size;
  } else {
    opened->data_ = static_cast<char*>(allocate(size, kBlockAlignment));
    opened->size_ = size;
    read_all(file.number(), opened->data_, size, path);
  }
  return opened;
}

CountedPtr<FileBytes> FileBytes::part(CountedPtr<FileBytes> whole, std::size_t offset,
                                      std::size_t bytes, std::string path) {
  OPYARD_ASSERT(offset <= whole->size_ && bytes <= whole->size_ - offset);
  CountedPtr<FileBytes> part = CountedPtr<FileBytes>::steal(new FileBytes(std::move(path)));
  part->data_ = whole->data_ + offset;
  part->size_ = bytes;
  part->whole_ = std::move(whole);
  return part;
}

CountedPtr<FileBytes> FileBytes::copy(std::string_view bytes, std::string path) {
  CountedPtr<FileBytes> copy = CountedPtr<FileBytes>::steal(new FileBytes(std::move(path)));
  if (bytes.empty()) return copy;
  copy->data_ = static_cast<char*>(allocate(bytes.size(), kBlockAlignment));
  copy->size_ = bytes.size();
  std::memcpy(copy->data_, bytes.data(), bytes.size());
  return copy;
}

FileBytes::~FileBytes() {
  if (data_ == nullptr || whole_ != nullptr) return;
  if (access_ == FileAccess::Mapped) {
    ::munmap(data_, size_);
  } else {
    deallocate(data_, size_, kBlockAlignment);
  }
}

Tensor FileBytes::tensor_at(std::size_t offset, std::size_t bytes, DType dtype, IntSpan sizes) {
  OPYARD_ASSERT(offset <= size_ && bytes <= size_ - offset);
  char* const data = data_ + offset;
  if (bytes == 0 || reinterpret_cast<std::uintptr_t>(data) % item_size(dtype) != 0) {
    return tensor_of_bytes({data, bytes}, dtype, sizes);
  }
  const Storage::Deleter drop = [](void* context) {
    CountedPtr<FileBytes>::steal(static_cast<FileBytes*>(context)).reset();
  };
  return Tensor::adopt(data, sizes, contiguous_strides(sizes), dtype, Device(),
                       CountedPtr<FileBytes>::share(this).release(), drop);
}

Tensor FileBytes::strided_at(const std::string& what, std::size_t offset, std::size_t room,
                             DType dtype, IntSpan sizes, IntSpan strides) {
  OPYARD_CHECK(sizes.size() == strides.size(), BadValue,
               fmt::format("{} has {} sizes and {} strides", what, sizes.size(), strides.size()));
  if (byte_count(what, dtype, sizes) == 0) return tensor_of_bytes({}, dtype, sizes);
  std::int64_t last = 0;  // the greatest index of an element
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    OPYARD_CHECK(strides[dim] >= 0, BadValue,
                 fmt::format("{} has the stride {}", what, strides[dim]));
    std::int64_t step = 0;
    const bool fits = !__builtin_mul_overflow(sizes[dim] - 1, strides[dim], &step) &&
                      !__builtin_add_overflow(last, step, &last);
    OPYARD_CHECK(fits, BadValue, fmt::format("{} has strides that do not fit 64 bits", what));
  }
  OPYARD_CHECK(std::uint64_t(last) < room / item_size(dtype), BadValue,
               fmt::format("{} of dtype {}, sizes {} and strides {} needs {} elements, and its {} "
                           "bytes have {}",
                           what, name_of(dtype), describe_sizes(sizes), describe_sizes(strides),
                           std::uint64_t(last) + 1, room, room / item_size(dtype)));
  OPYARD_ASSERT(reinterpret_cast<std::uintptr_t>(data_ + offset) % item_size(dtype) == 0);
  const Storage::Deleter drop = [](void* context) {
    CountedPtr<FileBytes>::steal(static_cast<FileBytes*>(context)).reset();
  };
  return Tensor::adopt(data_ + offset, sizes, strides, dtype, Device(),
                       CountedPtr<FileBytes>::share(this).release(), drop);
}

Tensor tensor_of_bytes(std::string_view bytes, DType dtype, IntSpan sizes) {
  Tensor tensor = Tensor::empty(sizes, dtype);
  if (!bytes.empty()) std::memcpy(tensor.mutable_raw(), bytes.data(), bytes.size());
  return tensor;
}

std::size_t byte_count(const std::string& what, DType dtype, IntSpan sizes) {
  std::int64_t bytes = std::int64_t(item_size(dtype));
  std::int64_t others = bytes;  // without the zeros: strides must fit, too
  for (const std::int64_t size : sizes) {
    OPYARD_CHECK(size >= 0, BadValue, fmt::format("{} has the size {}", what, size));
    const bool fits = !__builtin_mul_overflow(others, std::max<std::int64_t>(size, 1), &others);
    OPYARD_CHECK(fits, BadValue,
                 fmt::format("{} has sizes whose product does not fit 64 bits", what));
    bytes *= size;
  }
  return std::size_t(bytes);
}

void write_file(const std::string& path, std::span<const std::string_view> pieces) {
  OPYARD_CHECK(path.find('\0') == std::string::npos, BadValue, "a path has no zero byte");
  static std::atomic<std::uint64_t> number{0};
  const std::string beside = fmt::format("{}.{}.{}.part", path, ::getpid(), number++);
  Descriptor file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.number() < 0) refuse("write", path);
  try {
    for (const std::string_view piece : pieces) write_all(file.number(), piece, path);
    if (::close(file.release()) != 0 || ::rename(beside.c_str(), path.c_str()) != 0) {
      refuse("write", path);
    }
  } catch (...) {
    ::unlink(beside.c_str());
    throw;
  }
}

}  // namespace opyard::jit
