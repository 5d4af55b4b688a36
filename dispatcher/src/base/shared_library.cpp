// base/shared_library.cpp: opening a shared library, as its file is now.
//
// [Once mapped, always mapped] A file is opened with RTLD_NODELETE, and the dynamic linker knows
// open libraries by name: a second dlopen of a path never reads the file again, even if it
// was rebuilt in the meantime. So each path is remembered with what its file looked like. An
// unchanged one is not opened again; a changed one is opened from a private copy, which is
// beside it if it can, so that what it finds relative to itself is found.
#include "base/shared_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <mutex>
#include <vector>

#include "base/private_copy.h"
#include "opyard/base/error.h"
#include "opyard/base/file_error.h"
#include "opyard/detail/base/descriptor.h"
#include "opyard/detail/base/mutex.h"

namespace opyard {
namespace {

// What tells one content of a file from the next.
struct Stamp {
  dev_t device = 0;
  ino_t inode = 0;
  off_t bytes = 0;
  timespec changed{};

  bool operator==(const Stamp& o) const {
    return device == o.device && inode == o.inode && bytes == o.bytes &&
           changed.tv_sec == o.changed.tv_sec && changed.tv_nsec == o.changed.tv_nsec;
  }
};

struct Mapped {
  std::string path;
  Stamp stamp;
  void* handle;
};

// A leaf lock, never held while a file is opened.
struct MappedFiles {
  Mutex mutex{LockRank::MappedFiles};  // guards `files`
  std::vector<Mapped> files;

  static MappedFiles& instance() {
    static auto* const mapped = new MappedFiles;
    return *mapped;
  }
};

// Made when libopyard is loaded, so that no fork() meets it half made.
[[maybe_unused]] const Status made_mapped_files = guarded([] { MappedFiles::instance(); });

Stamp stamp_of(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return {};  // the dynamic linker will say why
  return {status.st_dev, status.st_ino, status.st_size, status.st_mtim};
}

// Refuses a file that ends before what its program headers promise: the dynamic linker would map
// it all the same, and die of SIGBUS when it reads past the end. What is no such file at all is
// left to the dynamic linker, which says why.
void check_whole(const std::string& file, const std::string& path) {
  struct stat status{};
  const bool exists = stat(file.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    fail(ErrorKind::BadPlugin, fmt::format("cannot load {}: it is no regular file", path));
  }
  std::ifstream stream(file, std::ios::binary);
  ElfW(Ehdr) header{};
  if (!stream.read(reinterpret_cast<char*>(&header), sizeof(header))) return;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return;
  stream.seekg(0, std::ios::end);
  const auto bytes = std::uint64_t(stream.tellg());
  std::uint64_t needed = header.e_phoff + std::uint64_t{header.e_phnum} * sizeof(ElfW(Phdr));
  stream.seekg(std::streamoff(header.e_phoff));
  for (int i = 0; i < header.e_phnum && needed <= bytes; ++i) {
    ElfW(Phdr) segment{};
    if (!stream.read(reinterpret_cast<char*>(&segment), sizeof(segment))) break;
    if (segment.p_type == PT_LOAD) needed = std::max(needed, segment.p_offset + segment.p_filesz);
  }
  if (needed > bytes) {
    fail(ErrorKind::BadPlugin,
         fmt::format("cannot load {}: the file is cut short; it has {} bytes and needs at least {}",
                     path, bytes, needed));
  }
}

// Why the system does not open the file itself; 0 if it does, and something else is wrong, such as
// a library that it needs. The dynamic linker looks for a name without a slash in many places.
int number_of_failure(const std::string& file, std::string_view said) {
  if (file.find('/') == std::string::npos) {
    return said.starts_with(file + ": cannot open shared object file") ? ENOENT : 0;
  }
  const detail::Descriptor opened(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (opened.number() < 0) return errno;
  struct stat status{};
  return fstat(opened.number(), &status) == 0 && S_ISDIR(status.st_mode) ? EISDIR : 0;
}

void* open_file(const std::string& file, const std::string& path) {
  check_whole(file, path);
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const std::string said = dlerror();
    const std::string what = fmt::format("cannot load {}", path);
    const int number = number_of_failure(file, said);
    if (number != 0) fail_file(number, path, what, ErrorKind::BadPlugin);
    fail(ErrorKind::BadPlugin, fmt::format("{}: {}", what, said));
  }
  return handle;
}

}  // namespace

void* open_shared_library(const std::string& path) {
  MappedFiles& mapped = MappedFiles::instance();
  const Stamp stamp = stamp_of(path);
  bool changed = false;
  {
    const std::lock_guard lock(mapped.mutex);
    for (const Mapped& file : mapped.files) {
      if (file.path != path) continue;
      if (file.stamp == stamp) return file.handle;
      changed = true;
    }
  }
  void* const handle = changed ? open_file(PrivateCopy(path).path(), path) : open_file(path, path);
  const std::lock_guard lock(mapped.mutex);
  mapped.files.push_back({path, stamp, handle});
  return handle;
}

}  // namespace opyard
