// opyard/detail/text/faults.h: collected errors of one text.
//
// A mistake behind which reading can go on is reported, any other ends the reading: fail()
// throws GiveUp, which never leaves the parser. The function that began to read then raises all
// of them as one error:
//
//   Faults faults(text, kLanguage, limits);
//   try {
//     Cursor cursor(text, kLanguage, limits, faults);
//     ...
//   } catch (const GiveUp&) {
//     // What ended the reading is among the faults.
//   }
//   faults.raise_if_any();
//
// Depends on: text/language.h, text/limits.h, text/source.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/base/export.h"
#include "opyard/detail/text/language.h"
#include "opyard/detail/text/limits.h"
#include "opyard/detail/text/source.h"

namespace opyard {

// `text` belongs in place of the bytes from `begin` to `end`; it may be empty.
struct TextFix {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string text;
};

// One mistake in a text.
struct TextFault {
  std::size_t line = 1;    // from 1
  std::size_t column = 1;  // from 1, in characters
  std::size_t begin = 0;   // the bytes it is about
  std::size_t end = 0;
  std::string message;         // "expected ',' or ')' but found the end"
  std::optional<TextFix> fix;  // one change that mends this, if there is an obvious one
};

}  // namespace opyard

namespace opyard::detail {

struct OPYARD_API GiveUp {};

class OPYARD_API Faults {
 public:
  Faults(std::string_view text, const Language& language, const TextLimits& limits)
      : text_(text), error_(language.error), limit_(limits.faults) {}

  // Throws GiveUp, too, if no more are wanted.
  void report(Span span, std::string message, std::optional<TextFix> fix = std::nullopt);
  [[noreturn]] void fail(Span span, std::string message, std::optional<TextFix> fix = std::nullopt);

  // In source order.
  std::vector<TextFault> sorted() const;
  // Raises all of them, if there are any, as one error of the language's kind.
  void raise_if_any() const;

 private:
  std::string_view text_;
  ErrorKind error_;
  std::size_t limit_;
  std::vector<TextFault> found_;
};

}  // namespace opyard::detail
