// schema/choose_overload.cpp: overload resolution for calls of a base name: what errors say.
#include "opyard/schema/choose_overload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace opyard {

std::string list_other_overloads(std::vector<std::string> overloads) {
  for (std::string& overload : overloads) {
    if (overload.empty()) overload = "default";
  }
  if (overloads.empty()) return "";
  const std::string last = std::move(overloads.back());
  overloads.pop_back();
  return overloads.empty()
             ? fmt::format("the other is {}", last)
             : fmt::format("the others are {} and {}", fmt::join(overloads, ", "), last);
}

}  // namespace opyard
