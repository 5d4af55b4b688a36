// text/value_names.cpp: scopes of value names.
#include "text/value_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace opyard::jit::detail {

void ValueNames::clear() {
  values_.clear();
  hidden_.clear();
  numbers_.clear();
}

void ValueNames::define(const Token& token, Value* value) {
  const std::string_view name = token.text.substr(1);
  if (is_number(name)) {
    std::uint64_t number = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
    if (read.ec != std::errc() || number > (std::uint64_t{1} << 62)) {
      cursor_.fail_at(token.span(), "the number of this value is too large");
    }
    numbers_.push_back({number, value});
  } else {
    if (name.back() == '.' || name.front() == '.') {
      cursor_.fail_at(token.span(), "a name neither begins nor ends with a point");
    }
    value->set_debug_name(name);
  }
  if (blocks_ > 0) hidden_.emplace_back(name, values_.find(name));
  values_.set(name, value);
}

Value* ValueNames::find(const Token& token) const {
  Value* const found = values_.find(token.text.substr(1));
  if (found == nullptr) {
    cursor_.fail_at(token.span(), fmt::format("there is no value {} here", describe(token)));
  }
  return found;
}

void ValueNames::end_block(std::size_t begin) {
  --blocks_;
  for (; hidden_.size() > begin; hidden_.pop_back()) {
    values_.set(hidden_.back().first, hidden_.back().second);
  }
}

std::span<const Graph::Numbered> ValueNames::newest() {
  // Of those with one number the one that was made first.
  const auto is_less = [](const Graph::Numbered& a, const Graph::Numbered& b) {
    return std::pair(a.number, a.value->index()) < std::pair(b.number, b.value->index());
  };
  if (!std::is_sorted(numbers_.begin(), numbers_.end(), is_less)) {
    std::sort(numbers_.begin(), numbers_.end(), is_less);
  }
  // Of those with one number the last comes first when they are read backwards.
  const auto is_same = [](const Graph::Numbered& a, const Graph::Numbered& b) {
    return a.number == b.number;
  };
  const auto first = std::unique(numbers_.rbegin(), numbers_.rend(), is_same);
  numbers_.erase(numbers_.begin(), first.base());
  return numbers_;
}

void ValueNames::tell(std::unordered_map<std::string, Value*>& names) const {
  names.clear();
  values_.for_each([&](std::string_view name, Value* value) { names.emplace(name, value); });
}

}  // namespace opyard::jit::detail
