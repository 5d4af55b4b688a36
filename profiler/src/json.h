// profiler/json.h: JSON text, written in pieces.
//
// Depends on: profiler/sink.h.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "opyard/profiler/sink.h"

namespace opyard::profiler {

// Appends a string literal. The text is valid UTF-8 already.
inline void append_quoted(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (code < 0x20 || code == 0x7F) {
      out += "\\u00";
      out += kHex[code >> 4];
      out += kHex[code & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

template <typename Integer>
void append_number(std::string& out, Integer number) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

// Nanoseconds as microseconds with three decimals.
inline void append_microseconds(std::string& out, std::int64_t ns) {
  if (ns < 0) {
    out += '-';
    ns = -ns;
  }
  append_number(out, ns / 1000);
  const auto rest = int(ns % 1000);
  out += '.';
  out += char('0' + rest / 100);
  out += char('0' + rest / 10 % 10);
  out += char('0' + rest % 10);
}

class Pieces {
 public:
  explicit Pieces(const Sink& sink) : sink_(sink) { text.reserve(kPiece + 4096); }
  void flush_if_full() {
    if (text.size() >= kPiece) flush();
  }
  void flush() {
    if (!text.empty()) sink_(text);
    text.clear();
  }

  std::string text;

 private:
  static constexpr std::size_t kPiece = std::size_t{64} << 10;
  const Sink& sink_;
};

}  // namespace opyard::profiler
