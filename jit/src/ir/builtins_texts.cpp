// ir/builtins_texts.cpp: built-in functions on texts, with Python's meaning if it has one.
//
// A place in a text counts letters, not bytes. Upper and lower case, digits and letters are ASCII's
// alone. `end=-1` of a search is the end of the text, which is TorchScript's default.
//
// [Long results] A join, a replacement, or a list of the letters can make much out of little in one
// step, which the budget of a run sees only when it is done; so there are limits.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "ir/builtins.h"
#include "ir/builtins_common.h"
#include "opyard/base/warning.h"
#include "opyard/detail/value/dict_object.h"

namespace opyard::jit::detail {
namespace {

constexpr std::size_t kLongestResult = std::size_t{64} << 20;  // see [Long results]
constexpr std::size_t kMostParts = std::size_t{1} << 20;

std::string_view text_at(const opyard::Value* const* arguments, std::size_t index) {
  return arguments[index]->to_string_view();
}

opyard::Value made(const std::string& text) { return opyard::Value(std::string_view(text)); }

bool begins_letter(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// Where each letter begins, and where the text ends.
std::vector<std::size_t> letters_in(std::string_view text) {
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (begins_letter(text[i])) starts.push_back(i);
  }
  starts.push_back(text.size());
  return starts;
}

std::string_view letter(std::string_view text, const std::vector<std::size_t>& starts,
                        std::size_t index) {
  return text.substr(starts[index], starts[index + 1] - starts[index]);
}

std::string turned(std::string_view text, char first, char last, int by) {
  std::string result(text);
  for (char& c : result) {
    if (c >= first && c <= last) c = char(c + by);
  }
  return result;
}

template <typename Is>
bool all_letters(std::string_view text, Is is) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is);
}

std::string_view stripped(std::string_view text, std::string_view chars, bool left, bool right) {
  const auto is_outside = [&](char c) { return chars.find(c) == std::string_view::npos; };
  if (left) {
    text.remove_prefix(
        std::size_t(std::find_if(text.begin(), text.end(), is_outside) - text.begin()));
  }
  if (right) {
    text.remove_suffix(
        std::size_t(std::find_if(text.rbegin(), text.rend(), is_outside) - text.rbegin()));
  }
  return text;
}

// What is searched: arguments 2 and 3 count letters. Its first letter's number is in `offset`.
struct Searched {
  std::string_view text;
  std::size_t offset;
};
Searched searched(const opyard::Value* const* arguments) {
  const std::string_view text = text_at(arguments, 0);
  const std::vector<std::size_t> starts = letters_in(text);
  const auto size = std::int64_t(starts.size() - 1);
  const std::int64_t given = arguments[3]->to_int();
  const std::int64_t begin = clamped_index(arguments[2]->to_int(), size);
  const std::int64_t end = given == -1 ? size : clamped_index(given, size);
  if (end < begin) return {text.substr(0, 0), std::size_t(begin)};
  return {text.substr(starts[std::size_t(begin)],
                      starts[std::size_t(end)] - starts[std::size_t(begin)]),
          std::size_t(begin)};
}

std::int64_t place_of(const Searched& in, std::size_t found) {
  if (found == std::string_view::npos) return -1;
  const std::string_view before = in.text.substr(0, found);
  return std::int64_t(in.offset) + std::count_if(before.begin(), before.end(), &begins_letter);
}

void require_length(std::size_t bytes) {
  OPYARD_CHECK(bytes <= kLongestResult, BadValue,
               fmt::format("a text of more than {} bytes would be made", kLongestResult));
}

void add_part(std::vector<opyard::Value>& parts, std::string_view part) {
  OPYARD_CHECK(parts.size() < kMostParts, BadValue,
               fmt::format("a list of more than {} texts would be made", kMostParts));
  parts.emplace_back(part);
}

// The bytes of all texts in it, as often as they are printed; what is printed of a value that is
// nested deeper, or has more items, is "..." (value/text.cpp).
void count_texts(const opyard::Value& value, std::size_t depth, std::size_t& items,
                 std::size_t& bytes) {
  if (value.kind() == Kind::String) {
    bytes += value.to_string_view().size();
    return require_length(bytes);
  }
  if (depth > 64) return;
  const auto count = [&](const opyard::Value& item) {
    if (++items <= kMostParts) count_texts(item, depth + 1, items, bytes);
  };
  if (value.is_list() || value.is_tuple()) {
    for (const opyard::Value& item : value.items_unchecked()) count(item);
  } else if (value.is_dict()) {
    const DictObject& dict = value.to_dict();
    for (std::size_t at = dict.next(0); at != DictObject::kEnd; at = dict.next(at + 1)) {
      count(dict.key_at(at));
      count(dict.value_at(at));
    }
  }
}

std::string printed(const opyard::Value& value) {
  std::size_t items = 0;
  std::size_t bytes = 0;
  count_texts(value, 0, items, bytes);
  return opyard::to_string(value);
}

}  // namespace

void text_length(const opyard::Value* const* arguments, opyard::Value* result) {
  const std::string_view text = text_at(arguments, 0);
  *result = std::int64_t(std::count_if(text.begin(), text.end(), &begins_letter));
}
void joined_texts(const opyard::Value* const* arguments, opyard::Value* result) {
  std::string text(text_at(arguments, 0));
  text += text_at(arguments, 1);
  *result = made(text);
}
void text_before(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = text_at(arguments, 0) < text_at(arguments, 1);
}
void text_not_behind(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = text_at(arguments, 0) <= text_at(arguments, 1);
}
void text_behind(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = text_at(arguments, 0) > text_at(arguments, 1);
}
void text_not_before(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = text_at(arguments, 0) >= text_at(arguments, 1);
}
void text_item(const opyard::Value* const* arguments, opyard::Value* result) {
  const std::string_view text = text_at(arguments, 0);
  const std::vector<std::size_t> starts = letters_in(text);
  const std::size_t at = list_position(arguments[1]->to_int(), starts.size() - 1, "text");
  *result = opyard::Value(letter(text, starts, at));
}
void part_of_text(const opyard::Value* const* arguments, opyard::Value* result) {
  const std::string_view text = text_at(arguments, 0);
  const std::vector<std::size_t> starts = letters_in(text);
  std::string part;
  for (const std::size_t i : places_of_slice(arguments, starts.size() - 1)) {
    part += letter(text, starts, i);
  }
  *result = made(part);
}
void text_contains(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = text_at(arguments, 0).find(text_at(arguments, 1)) != std::string_view::npos;
}
void letters_of_text(const opyard::Value* const* arguments, opyard::Value* result) {
  const std::string_view text = text_at(arguments, 0);
  const std::vector<std::size_t> starts = letters_in(text);
  std::vector<opyard::Value> items;
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) add_part(items, letter(text, starts, i));
  *result = opyard::Value::list(std::move(items));
}

// Each {} is the next value; values that are left over are not shown.
void filled_text(const opyard::Value* const* arguments, opyard::Value* result) {
  std::string_view rest = text_at(arguments, 0);
  std::string text;
  for (std::size_t next = 1;; ++next) {
    const std::size_t at = rest.find("{}");
    text += rest.substr(0, at);
    if (at == std::string_view::npos) break;
    OPYARD_CHECK(arguments[next] != nullptr, BadValue,
                 fmt::format("the text {} has more places than the {} values that were given",
                             repr(*arguments[0]), next - 1));
    text += printed(*arguments[next]);
    rest.remove_prefix(at + 2);
    require_length(text.size());
  }
  *result = made(text);
}
void text_of_value(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = made(printed(*arguments[0]));
}
void int_of_text(const opyard::Value* const* arguments, opyard::Value* result) {
  std::string_view text = stripped(text_at(arguments, 0), " \n\t\r\f\v", true, true);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  OPYARD_CHECK(error == std::errc() && end == text.data() + text.size() && !text.empty(), BadValue,
               fmt::format("{} is no int", repr(*arguments[0])));
  *result = number;
}
void float_of_text(const opyard::Value* const* arguments, opyard::Value* result) {
  std::string_view text = stripped(text_at(arguments, 0), " \n\t\r\f\v", true, true);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  OPYARD_CHECK(error == std::errc() && end == text.data() + text.size() && !text.empty(), BadValue,
               fmt::format("{} is no float", repr(*arguments[0])));
  *result = number;
}
void code_of_letter(const opyard::Value* const* arguments, opyard::Value* result) {
  const std::string_view text = text_at(arguments, 0);
  const auto count = std::count_if(text.begin(), text.end(), &begins_letter);
  OPYARD_CHECK(count == 1, BadValue, fmt::format("ord() takes one letter, not {}", count));
  const auto first = static_cast<unsigned char>(text[0]);
  const int more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
  std::int64_t code = more == 0 ? first : first & (0x3f >> more);
  for (std::size_t i = 1; i < text.size(); ++i) code = code << 6 | (text[i] & 0x3f);
  *result = code;
}
void letter_of_code(const opyard::Value* const* arguments, opyard::Value* result) {
  const std::int64_t code = arguments[0]->to_int();
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  OPYARD_CHECK(code >= 0 && code < 0x11'0000 && !is_surrogate, BadValue,
               fmt::format("{} is the code of no letter", code));
  std::string text;
  if (code < 0x80) {
    text += char(code);
  } else {
    constexpr int kFirst[] = {0, 0xc0, 0xe0, 0xf0};
    const int more = code < 0x800 ? 1 : code < 0x1'0000 ? 2 : 3;
    text += char(kFirst[more] | code >> 6 * more);
    for (int i = more - 1; i >= 0; --i) text += char(0x80 | (code >> 6 * i & 0x3f));
  }
  *result = made(text);
}
void upper_text(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = made(turned(text_at(arguments, 0), 'a', 'z', 'A' - 'a'));
}
void lower_text(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = made(turned(text_at(arguments, 0), 'A', 'Z', 'a' - 'A'));
}
void stripped_text(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = opyard::Value(stripped(text_at(arguments, 0), text_at(arguments, 1), true, true));
}
void left_stripped_text(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = opyard::Value(stripped(text_at(arguments, 0), text_at(arguments, 1), true, false));
}
void right_stripped_text(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = opyard::Value(stripped(text_at(arguments, 0), text_at(arguments, 1), false, true));
}
void starts_with_text(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = searched(arguments).text.starts_with(text_at(arguments, 1));
}
void ends_with_text(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = searched(arguments).text.ends_with(text_at(arguments, 1));
}
void first_place_in_text(const opyard::Value* const* arguments, opyard::Value* result) {
  const Searched in = searched(arguments);
  *result = place_of(in, in.text.find(text_at(arguments, 1)));
}
void last_place_in_text(const opyard::Value* const* arguments, opyard::Value* result) {
  const Searched in = searched(arguments);
  *result = place_of(in, in.text.rfind(text_at(arguments, 1)));
}
void count_in_text(const opyard::Value* const* arguments, opyard::Value* result) {
  const std::string_view text = searched(arguments).text;
  const std::string_view wanted = text_at(arguments, 1);
  if (wanted.empty()) {
    *result = std::int64_t(letters_in(text).size());
    return;
  }
  std::int64_t count = 0;
  for (std::size_t at = 0; (at = text.find(wanted, at)) != std::string_view::npos;) {
    ++count;
    at += wanted.size();
  }
  *result = count;
}
void replaced_text(const opyard::Value* const* arguments, opyard::Value* result) {
  const std::string_view text = text_at(arguments, 0);
  const std::string_view old = text_at(arguments, 1);
  const std::string_view fresh = text_at(arguments, 2);
  std::int64_t left = arguments[3]->to_int();
  OPYARD_CHECK(!old.empty(), BadValue, "replace() takes a text of at least one letter to replace");
  std::string replaced;
  std::size_t done = 0;
  for (std::size_t at; left != 0 && (at = text.find(old, done)) != std::string_view::npos; --left) {
    replaced += text.substr(done, at - done);
    replaced += fresh;
    require_length(replaced.size());
    done = at + old.size();
  }
  replaced += text.substr(done);
  *result = made(replaced);
}
void split_text(const opyard::Value* const* arguments, opyard::Value* result) {
  std::string_view rest = text_at(arguments, 0);
  std::int64_t left = arguments[2]->to_int();
  std::vector<opyard::Value> parts;
  if (arguments[1]->is_none()) {
    constexpr std::string_view kSpace = " \n\t\r\f\v";
    for (rest = stripped(rest, kSpace, true, false); !rest.empty();) {
      const std::size_t end = left == 0 ? std::string_view::npos : rest.find_first_of(kSpace);
      add_part(parts, left == 0 ? stripped(rest, kSpace, false, true) : rest.substr(0, end));
      if (end == std::string_view::npos) break;
      rest = stripped(rest.substr(end), kSpace, true, false);
      --left;
    }
  } else {
    const std::string_view separator = text_at(arguments, 1);
    OPYARD_CHECK(!separator.empty(), BadValue, "split() takes a separator of at least one letter");
    for (;; --left) {
      const std::size_t end = left == 0 ? std::string_view::npos : rest.find(separator);
      add_part(parts, rest.substr(0, end));
      if (end == std::string_view::npos) break;
      rest.remove_prefix(end + separator.size());
    }
  }
  *result = opyard::Value::list(std::move(parts));
}
void joined_list_of_texts(const opyard::Value* const* arguments, opyard::Value* result) {
  const std::string_view between = text_at(arguments, 0);
  std::string text;
  bool first = true;
  for (const opyard::Value& item : arguments[1]->to_list()) {
    if (!first) text += between;
    first = false;
    text += item.to_string_view();
    require_length(text.size());
  }
  *result = made(text);
}
void is_of_digits(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = all_letters(text_at(arguments, 0), [](char c) { return c >= '0' && c <= '9'; });
}
void is_of_letters(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = all_letters(text_at(arguments, 0),
                        [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; });
}
void is_of_space(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = all_letters(text_at(arguments, 0),
                        [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); });
}

void print_values(const opyard::Value* const* arguments, opyard::Value*) {
  std::string line;
  for (std::size_t i = 0; arguments[i] != nullptr; ++i) {
    if (i > 0) line += ' ';
    line += printed(*arguments[i]);
    require_length(line.size());
  }
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}
void warn_of_text(const opyard::Value* const* arguments, opyard::Value*) {
  warn(std::string(text_at(arguments, 0)));
}

}  // namespace opyard::jit::detail
