// schema/arguments.cpp: matching values with the arguments of a schema.
#include "opyard/schema/arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "opyard/schema/type_of.h"

namespace opyard {
namespace {

class Matcher {
 public:
  Matcher(const Schema& schema, std::span<const Value> positional,
          std::span<const Keyword> keywords) noexcept
      : schema_(schema), positional_(positional), keywords_(keywords) {}

  void push_all(Stack& stack) const {
    check_count();
    for (std::size_t i = 0; i < schema_.arguments.size(); ++i) stack.push(value_of(i));
    for (std::size_t i = 0; i < keywords_.size(); ++i) check_keyword(i);
  }

 private:
  void check_count() const {
    if (schema_.variadic_arguments) {
      fail(ErrorKind::Unsupported, fmt::format("{} takes any number of arguments; push them onto "
                                               "the stack by hand",
                                               to_string(schema_)));
    }
    const auto first_keyword = std::ranges::find_if(schema_.arguments, &Argument::keyword_only);
    const auto most = std::size_t(first_keyword - schema_.arguments.begin());
    if (positional_.size() > most) {
      fail(ErrorKind::BadArgument,
           fmt::format("Expected at most {} argument(s) for operator '{}', but received {} "
                       "argument(s). Declaration: {}",
                       most, to_string(schema_.name), positional_.size(), to_string(schema_)));
    }
  }

  const Value& value_of(std::size_t position) const {
    const Argument& argument = schema_.arguments[position];
    if (position < positional_.size()) return checked(position, positional_[position]);
    const auto keyword = std::ranges::find(keywords_, argument.name, &Keyword::first);
    if (keyword != keywords_.end()) return checked(position, keyword->second);
    if (!argument.default_value) {
      fail(ErrorKind::BadArgument,
           fmt::format("{}() is missing value for argument '{}'. Declaration: {}",
                       schema_.name.name, argument.name, to_string(schema_)));
    }
    return *argument.default_value;
  }

  const Value& checked(std::size_t position, const Value& value) const {
    const Argument& argument = schema_.arguments[position];
    if (accepts(*argument.type, value)) return value;
    fail(ErrorKind::BadArgument,
         fmt::format("{}() Expected a value of type '{}' for argument '{}' but instead found type "
                     "'{}'.\nPosition: {}\nValue: {}\nDeclaration: {}",
                     schema_.name.name, to_string(*argument.type), argument.name,
                     to_string(*type_of(value)), position, repr(value), to_string(schema_)));
  }

  void check_keyword(std::size_t at) const {
    const std::string_view name = keywords_[at].first;
    const auto argument = schema_.find_argument(name);
    if (!argument) {
      fail(ErrorKind::BadArgument,
           fmt::format("Unknown keyword argument '{}' for operator '{}'. Schema: {}", name,
                       to_string(schema_.name), to_string(schema_)));
    }
    const auto first = std::ranges::find(keywords_, name, &Keyword::first);
    if (*argument < positional_.size()) {
      fail(ErrorKind::BadArgument,
           fmt::format("Argument '{}' specified both as positional and keyword argument. Schema: "
                       "{}",
                       name, to_string(schema_)));
    }
    if (std::size_t(first - keywords_.begin()) != at) {
      fail(ErrorKind::BadArgument, fmt::format("Argument '{}' is given twice by name. Schema: {}",
                                               name, to_string(schema_)));
    }
  }

  const Schema& schema_;
  const std::span<const Value> positional_;
  const std::span<const Keyword> keywords_;
};

}  // namespace

void push_arguments(Stack& stack, const Schema& schema, std::span<const Value> positional,
                    std::span<const Keyword> keywords) {
  const std::size_t below = stack.size();
  try {
    Matcher(schema, positional, keywords).push_all(stack);
  } catch (...) {
    stack.truncate(below);
    throw;
  }
}

}  // namespace opyard
