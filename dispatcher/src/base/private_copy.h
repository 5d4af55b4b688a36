// base/private_copy.h: private copies of files, removed after use.
//
// base/shared_library.cpp maps a changed library from one, since the dynamic linker reads no path
// twice.
//
// Depends on: nothing of ours.
#pragma once

#include <string>

namespace opyard {

// Beside the original if possible, so that what the copy finds relative to itself is found; else in
// the folder for temporary files. A process that dies with one leaves the file; the next to make a
// copy of the same original there removes it. Raises BadPlugin.
class PrivateCopy {
 public:
  explicit PrivateCopy(const std::string& original);
  PrivateCopy(const PrivateCopy&) = delete;
  PrivateCopy& operator=(const PrivateCopy&) = delete;
  ~PrivateCopy();  // a mapped library does not need its name

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int descriptor_ = -1;  // locked, which says that somebody lives who needs the file
};

}  // namespace opyard
