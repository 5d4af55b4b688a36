// exported/zip.cpp: central directory of a zip archive, checked against the file.
#include "exported/zip.h"

#include <array>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "opyard/base/error.h"

namespace opyard::jit {
namespace {

constexpr std::uint32_t kLocalMark = 0x04034b50;
constexpr std::uint32_t kDirectoryMark = 0x02014b50;
constexpr std::uint32_t kEndMark = 0x06054b50;
constexpr std::size_t kLocalBytes = 30;
constexpr std::size_t kDirectoryBytes = 46;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kMostComment = 65535;

// A number at an offset. Raises BadValue past the end.
template <typename T>
T number_at(const FileBytes& file, std::size_t offset) {
  const std::string_view bytes = file.bytes();
  OPYARD_CHECK(offset <= bytes.size() && sizeof(T) <= bytes.size() - offset, BadValue,
               fmt::format("{} is cut: the archive's directory leaves the file", file.path()));
  T number = 0;
  std::memcpy(&number, bytes.data() + offset, sizeof(T));
  return number;
}

std::string_view bytes_at(const FileBytes& file, std::size_t offset, std::size_t count) {
  const std::string_view bytes = file.bytes();
  OPYARD_CHECK(offset <= bytes.size() && count <= bytes.size() - offset, BadValue,
               fmt::format("{} is cut: an entry of the archive leaves the file", file.path()));
  return bytes.substr(offset, count);
}

std::size_t find_end(const FileBytes& file) {
  const std::size_t size = file.bytes().size();
  if (size >= kEndBytes) {
    const std::size_t last = size - kEndBytes;
    for (std::size_t back = 0; back <= std::min(last, kMostComment); ++back) {
      if (number_at<std::uint32_t>(file, last - back) == kEndMark) return last - back;
    }
  }
  fail(ErrorKind::BadValue,
       fmt::format("{} is cut, or no archive: it has no directory at its end", file.path()));
}

void check_path(const std::string& name, const FileBytes& file) {
  const bool leads_out = name.empty() || name.front() == '/' || name.find('\\') != name.npos ||
                         name.find('\0') != name.npos ||
                         ("/" + name + "/").find("/../") != name.npos;
  OPYARD_CHECK(!leads_out, BadValue,
               fmt::format("{} has an entry whose path leads out of the archive", file.path()));
}

// Row n says what a byte does to the sum if n more bytes follow it, so that eight are done at once.
using CrcTable = std::array<std::array<std::uint32_t, 256>, 8>;
constexpr CrcTable make_crc_table() {
  CrcTable table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xedb88320u : 0u);
    table[0][i] = value;
  }
  for (std::size_t row = 1; row < 8; ++row) {
    for (std::size_t i = 0; i < 256; ++i) {
      const std::uint32_t before = table[row - 1][i];
      table[row][i] = (before >> 8) ^ table[0][before & 0xff];
    }
  }
  return table;
}
constexpr CrcTable kCrcTable = make_crc_table();

std::uint32_t crc_of(std::string_view bytes) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    std::array<std::uint32_t, 2> words;
    std::memcpy(words.data(), bytes.data(), 8);
    words[0] ^= crc;
    crc = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      crc ^= kCrcTable[7 - i][(words[i / 4] >> (8 * (i % 4))) & 0xff];
    }
  }
  for (const char byte : bytes) crc = (crc >> 8) ^ kCrcTable[0][(crc ^ std::uint8_t(byte)) & 0xff];
  return ~crc;
}

// Where the bytes of an entry begin, by the header in front of them.
ZipEntry entry_of(const FileBytes& file, const std::string& name, std::size_t directory) {
  const auto flags = number_at<std::uint16_t>(file, directory + 8);
  const auto method = number_at<std::uint16_t>(file, directory + 10);
  const auto packed = number_at<std::uint32_t>(file, directory + 20);
  const auto bytes = number_at<std::uint32_t>(file, directory + 24);
  const auto local = number_at<std::uint32_t>(file, directory + 42);
  OPYARD_CHECK((flags & 1) == 0, Unsupported,
               fmt::format("{}: entry {} is encrypted", file.path(), name));
  OPYARD_CHECK(
      method == 0, Unsupported,
      fmt::format("{}: entry {} is compressed, which torch.export.save() does not do; write "
                  "the archive again with it",
                  file.path(), name));
  OPYARD_CHECK(bytes != ~std::uint32_t{0} && local != ~std::uint32_t{0}, Unsupported,
               fmt::format("{}: entry {} is above 4 GB, which is not read", file.path(), name));
  OPYARD_CHECK(packed == bytes, BadValue,
               fmt::format("{}: entry {} has {} bytes, and {} in the archive", file.path(), name,
                           bytes, packed));
  OPYARD_CHECK(number_at<std::uint32_t>(file, local) == kLocalMark, BadValue,
               fmt::format("{}: entry {} is not where the directory says", file.path(), name));
  const std::size_t name_bytes = number_at<std::uint16_t>(file, local + 26);
  const std::size_t extra_bytes = number_at<std::uint16_t>(file, local + 28);
  OPYARD_CHECK(bytes_at(file, local + kLocalBytes, name_bytes) == name, BadValue,
               fmt::format("{}: entry {} has another name at its place", file.path(), name));
  const std::size_t offset = local + kLocalBytes + name_bytes + extra_bytes;
  bytes_at(file, offset, bytes);
  return {offset, bytes, number_at<std::uint32_t>(file, directory + 16)};
}

}  // namespace

bool ZipArchive::looks_like_one(const FileBytes& file) noexcept {
  return file.bytes().starts_with("PK\x03\x04") || file.bytes().starts_with("PK\x05\x06");
}

ZipArchive::ZipArchive(CountedPtr<FileBytes> given) : file_(std::move(given)) {
  const FileBytes& file = *file_;
  const std::size_t end = find_end(file);
  const std::size_t count = number_at<std::uint16_t>(file, end + 10);
  std::size_t at = number_at<std::uint32_t>(file, end + 16);
  OPYARD_CHECK(
      count != 0xffff && at != ~std::uint32_t{0}, Unsupported,
      fmt::format("{}: archives above 4 GB, or of 65,535 entries, are not read", file.path()));
  std::map<std::size_t, std::size_t> places;
  for (std::size_t i = 0; i < count; ++i) {
    OPYARD_CHECK(
        number_at<std::uint32_t>(file, at) == kDirectoryMark, BadValue,
        fmt::format("{} is broken: the archive's directory has {} entries, and {} were found",
                    file.path(), count, i));
    const std::size_t name_bytes = number_at<std::uint16_t>(file, at + 28);
    const std::size_t extra_bytes = number_at<std::uint16_t>(file, at + 30);
    const std::size_t comment_bytes = number_at<std::uint16_t>(file, at + 32);
    const std::string name(bytes_at(file, at + kDirectoryBytes, name_bytes));
    check_path(name, file);
    const ZipEntry entry = entry_of(file, name, at);
    OPYARD_CHECK(entries_.emplace(name, entry).second, BadValue,
                 fmt::format("{} has the entry {} twice", file.path(), name));
    OPYARD_CHECK(entry.bytes == 0 || places.emplace(entry.offset, entry.bytes).second, BadValue,
                 fmt::format("{}: entry {} overlaps another one", file.path(), name));
    at += kDirectoryBytes + name_bytes + extra_bytes + comment_bytes;
  }
  std::size_t free_from = 0;
  for (const auto& [offset, bytes] : places) {
    OPYARD_CHECK(offset >= free_from, BadValue,
                 fmt::format("{}: entries of the archive overlap at byte {}", file.path(), offset));
    free_from = offset + bytes;
  }
}

const ZipEntry* ZipArchive::find(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

const ZipEntry& ZipArchive::require(const std::string& name) const {
  const ZipEntry* const entry = find(name);
  OPYARD_CHECK(entry != nullptr, BadValue,
               fmt::format("{}: the archive has no entry {}", file_->path(), name));
  OPYARD_CHECK(crc_of(file_->bytes().substr(entry->offset, entry->bytes)) == entry->crc, BadValue,
               fmt::format("{}: entry {} has another checksum than the archive says: the file is "
                           "damaged",
                           file_->path(), name));
  return *entry;
}

CountedPtr<FileBytes> ZipArchive::aligned(const std::string& name) const {
  CountedPtr<FileBytes>& known = aligned_[name];
  if (known != nullptr) return known;
  constexpr std::size_t kAlignment = 16;
  const ZipEntry& entry = require(name);
  const std::string_view bytes = file_->bytes().substr(entry.offset, entry.bytes);
  const std::string path = file_->path() + ": " + name;
  known = reinterpret_cast<std::uintptr_t>(bytes.data()) % kAlignment == 0
              ? FileBytes::part(file_, entry.offset, entry.bytes, path)
              : FileBytes::copy(bytes, path);
  return known;
}

std::string_view ZipArchive::text(const std::string& name) const {
  const ZipEntry& entry = require(name);
  return file_->bytes().substr(entry.offset, entry.bytes);
}

}  // namespace opyard::jit
