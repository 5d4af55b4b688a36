// exported/zip.h: the entries of a zip archive that are stored without compression.
//
// PyTorch writes its archives without compression, so that they can be mapped; that is the one kind
// that is read. A compressed entry is refused, and so nothing can unfold to more than the file has.
//
// Depends on: files/file_bytes.h.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "files/file_bytes.h"

namespace opyard::jit {

struct ZipEntry {
  std::size_t offset;
  std::size_t bytes;
  std::uint32_t crc;
};

class ZipArchive {
 public:
  static bool looks_like_one(const FileBytes& file) noexcept;
  // Raises BadValue: no directory, entries that leave the file or overlap, a name twice, a path
  // that leads out of the archive. Unsupported: compressed, encrypted, above 4 GB.
  explicit ZipArchive(CountedPtr<FileBytes> file);

  const std::map<std::string, ZipEntry>& entries() const noexcept { return entries_; }
  const CountedPtr<FileBytes>& file() const noexcept { return file_; }
  const ZipEntry* find(const std::string& name) const;
  // Raises BadValue if there is none of this name, or its bytes have another checksum.
  const ZipEntry& require(const std::string& name) const;
  std::string_view text(const std::string& name) const;
  // The bytes of an entry at an address for elements of every dtype, the same each time: where they
  // are in the file, as PyTorch pads its archives for that, else a copy. Raises as require().
  CountedPtr<FileBytes> aligned(const std::string& name) const;

 private:
  CountedPtr<FileBytes> file_;
  std::map<std::string, ZipEntry> entries_;
  mutable std::map<std::string, CountedPtr<FileBytes>> aligned_;  // those that were asked for
};

}  // namespace opyard::jit
