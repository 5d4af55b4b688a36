// text/faults.cpp: collected errors, and the error that reports them.
#include "opyard/detail/text/faults.h"

#include <fmt/format.h>

#include <algorithm>

namespace opyard::detail {
namespace {

std::string describe_fault(std::string_view text, const TextFault& fault) {
  std::string out = fmt::format("{}:{}: {}\n{}", fault.line, fault.column, fault.message,
                                picture_of(text, {fault.begin, fault.end}));
  if (!fault.fix) return out;
  const std::string old = shown(text.substr(fault.fix->begin, fault.fix->end - fault.fix->begin));
  return out + (fault.fix->text.empty() ? fmt::format("\nfix: remove '{}'", old)
                                        : fmt::format("\nfix: write '{}' instead of '{}'",
                                                      shown(fault.fix->text), old));
}

}  // namespace

void Faults::report(Span span, std::string message, std::optional<TextFix> fix) {
  const LineAndColumn place = line_and_column_of(text_, span.begin);
  found_.push_back(
      {place.line, place.column, span.begin, span.end, std::move(message), std::move(fix)});
  if (found_.size() >= limit_) throw GiveUp{};
}

void Faults::fail(Span span, std::string message, std::optional<TextFix> fix) {
  report(span, std::move(message), std::move(fix));
  throw GiveUp{};
}

std::vector<TextFault> Faults::sorted() const {
  const auto earlier = [](const TextFault& a, const TextFault& b) { return a.begin < b.begin; };
  std::vector<TextFault> faults;  // few, and those at one place stay in order
  for (const TextFault& fault : found_) {
    faults.insert(std::upper_bound(faults.begin(), faults.end(), fault, earlier), fault);
  }
  return faults;
}

void Faults::raise_if_any() const {
  if (found_.empty()) return;
  std::string text;
  for (const TextFault& fault : sorted()) {
    if (!text.empty()) text += '\n';
    text += describe_fault(text_, fault);
  }
  if (found_.size() > 1 && found_.size() >= limit_) {
    text +=
        fmt::format("\nThe first {} mistakes are shown; mend them to see whether there are more.",
                    found_.size());
  }
  opyard::fail(error_, std::move(text));
}

}  // namespace opyard::detail
