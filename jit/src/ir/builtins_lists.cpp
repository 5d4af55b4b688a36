// ir/builtins_lists.cpp: built-in functions on lists, dicts and texts, with Python's meaning.
#include <fmt/format.h>

#include <algorithm>

#include "ir/builtins.h"
#include "ir/scalar_math.h"
#include "opyard/detail/value/dict_object.h"

namespace opyard::jit::detail {
namespace {

std::vector<opyard::Value>& items_of(const opyard::Value& list) {
  list.to_list();
  return static_cast<ListObject*>(list.object_unchecked())->items;
}

// A Python index, from the end if it is negative.
std::size_t position(std::int64_t index, std::size_t size) {
  const std::int64_t from_front = index < 0 ? index + std::int64_t(size) : index;
  if (from_front < 0 || from_front >= std::int64_t(size)) {
    fail(ErrorKind::BadIndex,
         fmt::format("index {} is out of range for a list of {}", index, size));
  }
  return std::size_t(from_front);
}

std::int64_t clamped(std::int64_t index, std::int64_t size) {
  return std::clamp<std::int64_t>(index < 0 ? index + size : index, 0, size);
}

}  // namespace

void list_length(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = std::int64_t(arguments[0]->to_list().size());
}
void text_length(const opyard::Value* const* arguments, opyard::Value* result) {
  const std::string_view text = arguments[0]->to_string_view();
  *result = std::int64_t(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}
void list_item(const opyard::Value* const* arguments, opyard::Value* result) {
  const std::vector<opyard::Value>& items = arguments[0]->to_list();
  *result = items[position(arguments[1]->to_int(), items.size())];
}
void set_list_item(const opyard::Value* const* arguments, opyard::Value* result) {
  std::vector<opyard::Value>& items = items_of(*arguments[0]);
  items[position(arguments[1]->to_int(), items.size())] = *arguments[2];
  *result = *arguments[0];
}
void append_item(const opyard::Value* const* arguments, opyard::Value* result) {
  items_of(*arguments[0]).push_back(*arguments[1]);
  *result = *arguments[0];
}
void insert_item(const opyard::Value* const* arguments, opyard::Value*) {
  std::vector<opyard::Value>& items = items_of(*arguments[0]);
  const std::int64_t at = clamped(arguments[1]->to_int(), std::int64_t(items.size()));
  items.insert(items.begin() + at, *arguments[2]);
}
void pop_item(const opyard::Value* const* arguments, opyard::Value* result) {
  std::vector<opyard::Value>& items = items_of(*arguments[0]);
  const std::size_t at = position(arguments[1]->to_int(), items.size());
  opyard::Value item = std::move(items[at]);
  items.erase(items.begin() + std::ptrdiff_t(at));
  *result = std::move(item);
}
void extend_list(const opyard::Value* const* arguments, opyard::Value*) {
  const std::vector<opyard::Value> more = arguments[1]->to_list();  // it may be the same list
  std::vector<opyard::Value>& items = items_of(*arguments[0]);
  items.insert(items.end(), more.begin(), more.end());
}
void clear_list(const opyard::Value* const* arguments, opyard::Value*) {
  std::vector<opyard::Value> gone;
  gone.swap(items_of(*arguments[0]));
}
void copy_of_list(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = opyard::Value::list(arguments[0]->to_list());
}
void joined_lists(const opyard::Value* const* arguments, opyard::Value* result) {
  std::vector<opyard::Value> items = arguments[0]->to_list();
  const std::vector<opyard::Value>& more = arguments[1]->to_list();
  items.insert(items.end(), more.begin(), more.end());
  *result = opyard::Value::list(std::move(items));
}
void repeated_list(const opyard::Value* const* arguments, opyard::Value* result) {
  const std::vector<opyard::Value>& once = arguments[0]->to_list();
  const std::int64_t times = std::max<std::int64_t>(arguments[1]->to_int(), 0);
  OPYARD_CHECK(
      once.empty() || times <= std::int64_t(std::vector<opyard::Value>().max_size() / once.size()),
      BadValue, fmt::format("a list of {} cannot be repeated {} times", once.size(), times));
  std::vector<opyard::Value> items;
  if (!once.empty()) items.reserve(once.size() * std::size_t(times));
  for (std::int64_t i = 0; i < times && !once.empty(); ++i) {
    items.insert(items.end(), once.begin(), once.end());
  }
  *result = opyard::Value::list(std::move(items));
}
void part_of_list(const opyard::Value* const* arguments, opyard::Value* result) {
  const std::vector<opyard::Value>& items = arguments[0]->to_list();
  const auto size = std::int64_t(items.size());
  const std::int64_t step = arguments[3]->to_int();
  OPYARD_CHECK(step != 0, BadValue, "the step of a slice is not 0");
  const auto bound = [&](const opyard::Value& given, std::int64_t without) {
    if (given.is_none()) return without;
    const std::int64_t index = given.to_int() < 0 ? given.to_int() + size : given.to_int();
    return step > 0 ? std::clamp<std::int64_t>(index, 0, size)
                    : std::clamp<std::int64_t>(index, -1, size - 1);
  };
  const std::int64_t start = bound(*arguments[1], step > 0 ? 0 : size - 1);
  const std::int64_t end = bound(*arguments[2], step > 0 ? size : -1);
  std::vector<opyard::Value> part;
  if (step > 0) {
    for (std::int64_t i = start; i<end; i = step> end - i ? end : i + step)
      part.push_back(items[std::size_t(i)]);
  } else {
    for (std::int64_t i = start; i > end; i = step < end - i ? end : i + step)
      part.push_back(items[std::size_t(i)]);
  }
  *result = opyard::Value::list(std::move(part));
}
void values_equal(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = *arguments[0] == *arguments[1];
}
void values_differ(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = !(*arguments[0] == *arguments[1]);
}
void joined_texts(const opyard::Value* const* arguments, opyard::Value* result) {
  std::string text(arguments[0]->to_string_view());
  text += arguments[1]->to_string_view();
  *result = opyard::Value(std::string_view(text));
}
void dict_item(const opyard::Value* const* arguments, opyard::Value* result) {
  const opyard::Value* const found = arguments[0]->to_dict().find(*arguments[1]);
  OPYARD_CHECK(found != nullptr, BadIndex,
               fmt::format("there is no key {} in the dict", repr(*arguments[1])));
  *result = *found;
}
void dict_length(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = std::int64_t(arguments[0]->to_dict().size());
}
void has_key(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = arguments[0]->to_dict().find(*arguments[1]) != nullptr;
}
void list_contains(const opyard::Value* const* arguments, opyard::Value* result) {
  const std::vector<opyard::Value>& items = arguments[0]->to_list();
  *result = std::find(items.begin(), items.end(), *arguments[1]) != items.end();
}
void are_identical(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = arguments[0]->identical(*arguments[1]);
}
void are_not_identical(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = !arguments[0]->identical(*arguments[1]);
}
void unwrapped(const opyard::Value* const* arguments, opyard::Value* result) {
  OPYARD_CHECK(!arguments[0]->is_none(), BadValue, "None was unwrapped");
  *result = *arguments[0];
}

}  // namespace opyard::jit::detail
