// schema/source.cpp: checking the bytes of a text, and pointing into it.
#include "schema/source.h"

#include <fmt/format.h>

#include <algorithm>

#include "opyard/base/error.h"

namespace opyard::detail {
namespace {

// How much of a long line is shown before and after the caret, and of a text in a message.
constexpr std::size_t kBefore = 100;
constexpr std::size_t kAfter = 40;
constexpr std::size_t kQuoted = 60;

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// The bytes of the UTF-8 character at `offset`; 0 where there is none.
std::size_t character_bytes(std::string_view text, std::size_t offset) {
  const auto byte = [&](std::size_t i) {
    return offset + i < text.size() ? static_cast<unsigned char>(text[offset + i]) : 0u;
  };
  const unsigned first = byte(0);
  std::size_t count = 0;
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) count = 2;
  if (first >= 0xe0 && first <= 0xef) count = 3;
  if (first >= 0xf0 && first <= 0xf4) count = 4;
  for (std::size_t i = 1; i < count; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool surrogate = first == 0xed && byte(1) > 0x9f;
  const bool too_large = first == 0xf4 && byte(1) > 0x8f;
  return overlong || surrogate || too_large ? 0 : count;
}

// One character as it is shown, and how many columns that takes.
struct Glyph {
  std::string text;
  std::size_t columns;
  std::size_t bytes;
};

Glyph glyph_at(std::string_view text, std::size_t offset) {
  const std::size_t bytes = character_bytes(text, offset);
  const char c = text[offset];
  if (c == '\t') return {" ", 1, 1};
  if (bytes == 0 || (bytes == 1 && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f))) {
    return {fmt::format("\\x{:02x}", static_cast<unsigned char>(c)), 4, 1};
  }
  return {std::string(text.substr(offset, bytes)), 1, bytes};
}

// The line with a caret below `at`, an offset into it.
std::string marked(std::string_view line, std::size_t at) {
  std::size_t begin = at > kBefore ? at - kBefore : 0;
  while (begin > 0 && continues(line[begin])) --begin;
  const std::size_t end = std::min(line.size(), at + kAfter);
  std::string out = begin > 0 ? "..." : "";
  std::size_t columns = out.size();
  std::size_t caret = columns;
  for (std::size_t i = begin; i < end;) {
    const Glyph glyph = glyph_at(line, i);
    out += glyph.text;
    columns += glyph.columns;
    i += glyph.bytes;
    if (i <= at) caret = columns;
  }
  if (end < line.size()) out += "...";
  return out + '\n' + std::string(caret, ' ') + '^';
}

}  // namespace

Source::Source(std::string_view text, std::size_t limit) : text_(text) {
  if (text.size() > limit) {
    fail_at(0,
            fmt::format("a schema of {} bytes is too long; the limit is {}", text.size(), limit));
  }
  for (std::size_t offset = 0; offset < text.size();) {
    if (text[offset] == '\0') fail_at(offset, "byte \\x00 is not allowed in a schema");
    const std::size_t bytes = character_bytes(text, offset);
    if (bytes == 0) {
      fail_at(offset, fmt::format("byte \\x{:02x} is not UTF-8 text",
                                  static_cast<unsigned char>(text[offset])));
    }
    offset += bytes;
  }
}

void Source::fail_at(std::size_t offset, std::string_view message) const {
  const std::string_view before = text_.substr(0, offset);
  const auto line = std::size_t(std::count(before.begin(), before.end(), '\n'));
  const std::size_t newline = before.rfind('\n');
  const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  const std::size_t end = std::min(text_.find('\n', begin), text_.size());
  const auto column = std::size_t(std::count_if(
      before.begin() + std::ptrdiff_t(begin), before.end(), [](char c) { return !continues(c); }));
  fail(ErrorKind::BadSchema, fmt::format("{}:{}: {}\n{}", line + 1, column + 1, message,
                                         marked(text_.substr(begin, end - begin), offset - begin)));
}

std::string shown(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (i >= kQuoted) return out + "...";
    const Glyph glyph = glyph_at(text, i);
    out += glyph.text;
    i += glyph.bytes;
  }
  return out;
}

}  // namespace opyard::detail
