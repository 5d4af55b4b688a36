// text/value_names.cpp: names of values, and the blocks that they are known in.
#include "text/value_names.h"

#include <fmt/format.h>

#include <charconv>

namespace opyard::jit::detail {

void ValueNames::clear() {
  values_.clear();
  hidden_.clear();
  newest_.clear();
}

void ValueNames::define(const Token& token, Value* value) {
  const std::string_view name = token.text.substr(1);
  if (is_number(name)) {
    std::uint64_t number = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
    if (read.ec != std::errc() || number > (std::uint64_t{1} << 62)) {
      cursor_.fail_at(token.span(), "the number of this value is too large");
    }
    newest_[number] = value;
  } else {
    if (name.back() == '.' || name.front() == '.') {
      cursor_.fail_at(token.span(), "a name neither begins nor ends with a point");
    }
    value->set_debug_name(name);
  }
  Value*& known = values_[name];
  hidden_.emplace_back(name, known);
  known = value;
}

Value* ValueNames::find(const Token& token) const {
  const auto found = values_.find(token.text.substr(1));
  if (found == values_.end() || found->second == nullptr) {
    cursor_.fail_at(token.span(), fmt::format("there is no value {} here", describe(token)));
  }
  return found->second;
}

void ValueNames::end_block(std::size_t begin) {
  for (; hidden_.size() > begin; hidden_.pop_back()) {
    values_[hidden_.back().first] = hidden_.back().second;
  }
}

void ValueNames::tell(std::unordered_map<std::string, Value*>& names) const {
  names.clear();
  for (const auto& [name, value] : values_) names.emplace(name, value);
}

}  // namespace opyard::jit::detail
