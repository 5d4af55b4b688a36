// opyard/detail/base/shared_text.h: SharedText: an immutable, shared string.
//
// One pointer. Copying counts, and compares by address first: the kernels of one library mostly
// share the text that says where they were registered.
//
// Depends on: base/counted.h.
#pragma once

#include <string>
#include <utility>

#include "opyard/base/counted.h"

namespace opyard {

class SharedText {
 public:
  SharedText() noexcept = default;
  SharedText(std::string text)  // NOLINT
      : text_(text.empty() ? nullptr : make_counted<Held>(std::move(text))) {}
  SharedText(const char* text) : SharedText(std::string(text)) {}  // NOLINT

  const std::string& str() const noexcept {
    static const std::string none;
    return text_ ? text_->text : none;
  }
  operator const std::string&() const noexcept { return str(); }  // NOLINT
  bool empty() const noexcept { return !text_; }

 private:
  struct Held : Counted {
    explicit Held(std::string held) : text(std::move(held)) {}
    const std::string text;
  };
  CountedPtr<Held> text_;
};

}  // namespace opyard
