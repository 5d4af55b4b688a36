// text/line_counter.h: line and column of positions in a text, in order.
//
// Depends on: jit/source_range.h.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "opyard/jit/source_range.h"

namespace opyard::jit::detail {

class LineCounter {
 public:
  LineCounter(std::string_view text, std::string name)
      : text_(text), name_(std::make_shared<const std::string>(std::move(name))) {}

  // Offsets never decrease from call to call, so that the text is passed over once.
  SourceRange at(std::size_t offset) {
    for (; counted_ < offset; ++counted_) {
      if (text_[counted_] == '\n') {
        ++line_;
        line_begin_ = counted_ + 1;
      }
    }
    return {name_, line_, std::uint32_t(offset - line_begin_ + 1)};
  }

 private:
  const std::string_view text_;
  const std::shared_ptr<const std::string> name_;
  std::size_t counted_ = 0;
  std::size_t line_begin_ = 0;
  std::uint32_t line_ = 1;
};

}  // namespace opyard::jit::detail
