// text/source.cpp: UTF-8 check of a text, and excerpts with marks.
#include "opyard/detail/text/source.h"

#include <fmt/format.h>

#include <algorithm>

namespace opyard::detail {
namespace {

// How much of a long line is shown before and after the beginning of the mark, and of a text in
// a message.
constexpr std::size_t kBefore = 100;
constexpr std::size_t kAfter = 40;
constexpr std::size_t kQuoted = 60;

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// The bytes of the UTF-8 character at `offset`; 0 if there is none.
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

// The line with a mark below the bytes from `at` to `end_of_mark`, which are offsets into it.
std::string marked(std::string_view line, std::size_t at, std::size_t end_of_mark) {
  const bool whole = line.size() <= kBefore + kAfter;
  std::size_t begin = !whole && at > kBefore ? at - kBefore : 0;
  while (begin > 0 && continues(line[begin])) --begin;
  const std::size_t end = whole ? line.size() : std::min(line.size(), at + kAfter);
  std::string out = begin > 0 ? "..." : "";
  std::size_t columns = out.size();
  std::size_t first = columns;
  std::size_t last = columns;
  for (std::size_t i = begin; i < end;) {
    const Glyph glyph = glyph_at(line, i);
    out += glyph.text;
    columns += glyph.columns;
    i += glyph.bytes;
    if (i <= at) first = columns;
    if (i <= end_of_mark) last = columns;
  }
  if (end < line.size()) out += "...";
  const std::size_t tail = last > first ? last - first - 1 : 0;
  return out + '\n' + std::string(first, ' ') + '^' + std::string(tail, '~');
}

// Where the line of the byte at `offset` begins.
std::size_t line_begin(std::string_view text, std::size_t offset) {
  const std::size_t newline = text.substr(0, offset).rfind('\n');
  return newline == std::string_view::npos ? 0 : newline + 1;
}

}  // namespace

std::size_t find_wrong_byte(std::string_view text) {
  for (std::size_t offset = 0; offset < text.size();) {
    const std::size_t bytes = text[offset] == '\0' ? 0 : character_bytes(text, offset);
    if (bytes == 0) return offset;
    offset += bytes;
  }
  return std::string_view::npos;
}

LineAndColumn line_and_column_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::string_view in_line = before.substr(line_begin(text, offset));
  return {1 + std::size_t(std::count(before.begin(), before.end(), '\n')),
          1 + std::size_t(std::count_if(in_line.begin(), in_line.end(),
                                        [](char c) { return !continues(c); }))};
}

std::string picture_of(std::string_view text, Span span) {
  const std::size_t begin = line_begin(text, span.begin);
  const std::size_t end = std::min(text.find('\n', begin), text.size());
  return marked(text.substr(begin, end - begin), span.begin - begin,
                std::max(span.begin, std::min(span.end, end)) - begin);
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
