// exports/protobuf.h: messages of protocol buffers, written field by field.
//
// Depends on: nothing else of ours.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace opyard::profiler {

// A message under construction.
struct Message {
  std::string bytes;

  void varint(std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) bytes += char(number | 0x80);
    bytes += char(number);
  }
  void number(int field, std::uint64_t value) {
    varint(std::uint64_t(field) << 3);
    varint(value);
  }
  void fixed(int field, std::uint64_t value) {
    varint(std::uint64_t(field) << 3 | 1);
    for (int shift = 0; shift < 64; shift += 8) bytes += char(value >> shift & 0xff);
  }
  void text(int field, std::string_view value) {
    varint(std::uint64_t(field) << 3 | 2);
    varint(value.size());
    bytes += value;
  }
  void message(int field, const Message& value) { text(field, value.bytes); }
};

}  // namespace opyard::profiler
