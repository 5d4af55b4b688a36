// schema/faults.h: the mistakes found in one schema text.
//
// A mistake behind which reading can go on is reported, any other ends the reading: fail()
// throws GiveUp, which never leaves the parser. Whoever began to read then raises all of them
// as one error.
//
// Depends on: schema/parse.h, schema/source.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/schema/parse.h"
#include "schema/source.h"

namespace opyard::detail {

struct GiveUp {};

class Faults {
 public:
  Faults(std::string_view text, std::size_t limit) : text_(text), limit_(limit) {}

  // Throws GiveUp, too, where no more are wanted.
  void report(Span span, std::string message, std::optional<SchemaFix> fix = std::nullopt);
  [[noreturn]] void fail(Span span, std::string message,
                         std::optional<SchemaFix> fix = std::nullopt);

  // In source order.
  std::vector<SchemaFault> sorted() const;
  // Raises BadSchema with all of them, where there are any.
  void raise_if_any() const;

 private:
  std::string_view text_;
  std::size_t limit_;
  std::vector<SchemaFault> found_;
};

}  // namespace opyard::detail
