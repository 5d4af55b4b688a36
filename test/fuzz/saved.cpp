// test/fuzz/saved.cpp: fuzzer of files of opyard.jit.save(): loaded or refused.
//
// Bytes that begin with "{" are the header of a file, which gets its length in front and as many
// zeros behind it as its tensors need, up to a limit; others are the file.
#include <cstdint>
#include <cstring>
#include <optional>

#include "memory_file.h"

namespace opyard::fuzz {
namespace {

constexpr std::size_t kMostData = 1 << 12;

// The greatest number behind "data_offsets", as the header says it.
std::size_t data_of(std::string_view header) {
  std::size_t most = 0;
  for (std::size_t at = header.find("data_offsets"); at != header.npos;
       at = header.find("data_offsets", at + 1)) {
    std::size_t number = 0;
    for (std::size_t i = at; i < header.size() && header[i] != ']'; ++i) {
      const bool is_digit = header[i] >= '0' && header[i] <= '9';
      number = is_digit ? std::min(number * 10 + std::size_t(header[i] - '0'), kMostData) : 0;
      most = std::max(most, number);
    }
  }
  return most;
}

std::string whole_file(std::string_view bytes) {
  if (!bytes.starts_with('{')) return std::string(bytes);
  const std::uint64_t length = bytes.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof(length));
  file += bytes;
  return file + std::string(data_of(bytes), '\0');
}

}  // namespace

bool saved(std::string_view bytes) {
  const std::optional<jit::Model> model = load_bytes(whole_file(bytes));
  if (!model) return false;
  check_model(*model);
  return true;
}

}  // namespace opyard::fuzz
