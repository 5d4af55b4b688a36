// tensor/layout.cpp: layouts and memory formats from their numbers.
#include "opyard/tensor/layout.h"

#include <fmt/format.h>

#include "opyard/base/error.h"

namespace opyard {
namespace {

std::int64_t check_code(std::int64_t code, std::int64_t last, const char* what) {
  if (code < 0 || code > last) {
    fail(ErrorKind::BadValue,
         fmt::format("{} is no {}; the numbers are 0 to {}", code, what, last));
  }
  return code;
}

}  // namespace

Layout require_layout(std::int64_t code) {
  return Layout(check_code(code, std::int64_t(Layout::Sparse), "layout"));
}

MemoryFormat require_memory_format(std::int64_t code) {
  return MemoryFormat(
      check_code(code, std::int64_t(MemoryFormat::ChannelsLast3d), "memory format"));
}

}  // namespace opyard
