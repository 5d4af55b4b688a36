// base/private_copy.cpp: a copy of a file, made through descriptors, and the removal of those left behind.
//
// [Left behind] A process that is ended while it has a copy cannot remove it. Each copy is
// therefore locked (flock) by the process that made it, and the lock ends with the process. Before
// a copy is made those of the same original in the same folder that no one locks are removed.
// Between making a file and locking it another process may take it for one left behind: who then
// finds its file without a name makes another.
#include "base/private_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "opyard/base/file_error.h"
#include "opyard/detail/base/descriptor.h"

namespace opyard {
namespace {

namespace fs = std::filesystem;
using detail::Descriptor;

constexpr int kTries = 8;
constexpr std::size_t kLetters = 6;  // that mkstemp puts at the end

bool has_name(int descriptor) {
  struct stat status{};
  return fstat(descriptor, &status) == 0 && status.st_nlink > 0;
}

// See [Left behind].
void remove_left_behind(const fs::path& folder, const std::string& prefix) {
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix) || name.size() != prefix.size() + kLetters) continue;
    const Descriptor file(open(entry->path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (file.number() >= 0 && flock(file.number(), LOCK_EX | LOCK_NB) == 0)
      unlink(entry->path().c_str());
  }
}

// A new file that is locked, and its path; or none, with errno.
int make_locked(const fs::path& folder, const std::string& prefix, std::string& path) {
  for (int i = 0; i < kTries; ++i) {
    path = (folder / (prefix + std::string(kLetters, 'X'))).string();
    Descriptor file(mkostemp(path.data(), O_CLOEXEC));
    if (file.number() < 0 || flock(file.number(), LOCK_EX | LOCK_NB) != 0) {
      if (file.number() < 0) return -1;
      continue;  // being looked at, and removed
    }
    if (has_name(file.number())) return file.release();
  }
  errno = EAGAIN;
  return -1;
}

bool copy(int from, int to) {
  for (;;) {
    const ssize_t moved = sendfile(to, from, nullptr, std::size_t{1} << 30);
    if (moved == 0) return true;
    if (moved < 0 && errno != EINTR) return false;
  }
}

}  // namespace

PrivateCopy::PrivateCopy(const std::string& original) {
  const fs::path file(original);
  const std::string prefix = "." + file.filename().string() + ".opyard-";
  std::error_code error;
  int reason = 0;
  for (const fs::path& folder : {file.parent_path(), fs::temp_directory_path(error)}) {
    const fs::path here = folder.empty() ? fs::path(".") : folder;
    remove_left_behind(here, prefix);
    const Descriptor source(open(original.c_str(), O_RDONLY | O_CLOEXEC));
    Descriptor target(source.number() < 0 ? -1 : make_locked(here, prefix, path_));
    if (target.number() >= 0 && copy(source.number(), target.number())) {
      descriptor_ = target.release();
      return;
    }
    reason = errno;
    if (target.number() >= 0) unlink(path_.c_str());
  }
  fail_file(reason, original,
            fmt::format("{} has changed since it was loaded, and no private copy of it can be made "
                        "to load it anew",
                        original),
            ErrorKind::BadPlugin);
}

PrivateCopy::~PrivateCopy() {
  unlink(path_.c_str());
  close(descriptor_);
}

}  // namespace opyard
