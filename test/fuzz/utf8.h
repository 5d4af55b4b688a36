// test/fuzz/utf8.h: a second UTF-8 validator, independent of the parser's.
#pragma once

#include <cstdint>
#include <string_view>

namespace opyard::fuzz {

// Decodes each character and encodes it again: what comes out differently was none.
inline bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto at = [&](std::size_t k) {
      return i + k < text.size() ? std::uint32_t(static_cast<unsigned char>(text[i + k])) : 0u;
    };
    const std::uint32_t first = at(0);
    const std::size_t bytes = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    std::uint32_t code = bytes == 1 ? first : first & (0xffu >> (bytes + 1));
    for (std::size_t k = 1; k < bytes; ++k) {
      if ((at(k) >> 6) != 2) return false;
      code = code << 6 | (at(k) & 0x3f);
    }
    const std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool lead = bytes == 1 || (first >= 0xc0 && first < 0xf8);
    if (!lead || code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
      return false;
    }
    i += bytes;
  }
  return true;
}

}  // namespace opyard::fuzz
