// ir/builtins_lists.cpp: built-in functions on lists, with Python's meaning.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/builtins.h"
#include "ir/builtins_common.h"
#include "ir/scalar_math.h"

namespace opyard::jit::detail {
namespace {

std::vector<opyard::Value>& items_of(const opyard::Value& list) {
  list.to_list();
  return static_cast<ListObject*>(list.object_unchecked())->items;
}

std::size_t position(std::int64_t index, std::size_t size) {
  return list_position(index, size, "list");
}

// NaN is behind all numbers, so that the order is one.
bool is_less(const opyard::Value& a, const opyard::Value& b) {
  switch (a.kind()) {
    case Kind::Int:
      return a.int_unchecked() < b.int_unchecked();
    case Kind::Bool:
      return a.bool_unchecked() < b.bool_unchecked();
    case Kind::Double:
      return a.double_unchecked() < b.double_unchecked() ||
             (std::isnan(b.double_unchecked()) && !std::isnan(a.double_unchecked()));
    default:
      return a.to_string_view() < b.to_string_view();
  }
}

void require_comparable(const std::vector<opyard::Value>& items) {
  for (const opyard::Value& item : items) {
    const Kind kind = item.kind();
    const bool has_order =
        kind == Kind::Int || kind == Kind::Bool || kind == Kind::Double || kind == Kind::String;
    OPYARD_CHECK(has_order && kind == items.front().kind(), BadArgument,
                 fmt::format("{} cannot be ordered; accepted are ints, floats, bools or texts, of "
                             "one kind in a list",
                             repr(item)));
  }
}

void sort(std::vector<opyard::Value>& items, bool reverse) {
  require_comparable(items);
  std::stable_sort(items.begin(), items.end(), [&](const opyard::Value& a, const opyard::Value& b) {
    return reverse ? is_less(b, a) : is_less(a, b);
  });
}

// The place of an item, or the size.
std::size_t place_in(const std::vector<opyard::Value>& items, const opyard::Value& item) {
  return std::size_t(std::find(items.begin(), items.end(), item) - items.begin());
}
std::size_t require_place_in(const std::vector<opyard::Value>& items, const opyard::Value& item) {
  const std::size_t at = place_in(items, item);
  OPYARD_CHECK(at < items.size(), BadValue, fmt::format("{} is not in the list", repr(item)));
  return at;
}

const std::vector<opyard::Value>& require_some(const opyard::Value& list) {
  const std::vector<opyard::Value>& items = list.to_list();
  OPYARD_CHECK(!items.empty(), BadValue, "an empty list has no least or greatest item");
  require_comparable(items);
  return items;
}

bool is_true(const opyard::Value& item) {
  if (item.is_bool()) return item.to_bool();
  return item.is_int() ? item.to_int() != 0 : item.to_double() != 0;
}

}  // namespace

std::size_t list_position(std::int64_t index, std::size_t size, std::string_view what) {
  const std::int64_t from_front = index < 0 ? index + std::int64_t(size) : index;
  if (from_front < 0 || from_front >= std::int64_t(size)) {
    fail(ErrorKind::BadIndex,
         fmt::format("index {} is out of range for a {} of {}", index, what, size));
  }
  return std::size_t(from_front);
}

std::int64_t clamped_index(std::int64_t index, std::int64_t size) {
  return std::clamp<std::int64_t>(index < 0 ? index + size : index, 0, size);
}

std::vector<std::size_t> places_of_slice(const opyard::Value* const* arguments, std::size_t count) {
  const auto size = std::int64_t(count);
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
  std::vector<std::size_t> places;
  if (step > 0) {
    for (std::int64_t i = start; i<end; i = step> end - i ? end : i + step)
      places.push_back(std::size_t(i));
  } else {
    for (std::int64_t i = start; i > end; i = step < end - i ? end : i + step)
      places.push_back(std::size_t(i));
  }
  return places;
}

void list_length(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = std::int64_t(arguments[0]->to_list().size());
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
  const std::int64_t at = clamped_index(arguments[1]->to_int(), std::int64_t(items.size()));
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
void extend_list_in_place(const opyard::Value* const* arguments, opyard::Value* result) {
  extend_list(arguments, result);
  *result = *arguments[0];
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
  std::vector<opyard::Value> part;
  for (const std::size_t i : places_of_slice(arguments, items.size())) part.push_back(items[i]);
  *result = opyard::Value::list(std::move(part));
}
void values_equal(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = *arguments[0] == *arguments[1];
}
void values_differ(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = !(*arguments[0] == *arguments[1]);
}
void delete_item(const opyard::Value* const* arguments, opyard::Value*) {
  std::vector<opyard::Value>& items = items_of(*arguments[0]);
  const std::size_t at = position(arguments[1]->to_int(), items.size());
  const opyard::Value gone = std::move(items[at]);
  items.erase(items.begin() + std::ptrdiff_t(at));
}
void remove_item(const opyard::Value* const* arguments, opyard::Value*) {
  std::vector<opyard::Value>& items = items_of(*arguments[0]);
  const std::size_t at = require_place_in(items, *arguments[1]);
  const opyard::Value gone = std::move(items[at]);
  items.erase(items.begin() + std::ptrdiff_t(at));
}
void reverse_list(const opyard::Value* const* arguments, opyard::Value*) {
  std::vector<opyard::Value>& items = items_of(*arguments[0]);
  std::reverse(items.begin(), items.end());
}
void sort_list(const opyard::Value* const* arguments, opyard::Value*) {
  sort(items_of(*arguments[0]), arguments[1]->to_bool());
}
void sorted_list(const opyard::Value* const* arguments, opyard::Value* result) {
  std::vector<opyard::Value> items = arguments[0]->to_list();
  sort(items, false);
  *result = opyard::Value::list(std::move(items));
}
void index_of_item(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = std::int64_t(require_place_in(arguments[0]->to_list(), *arguments[1]));
}
void count_of_item(const opyard::Value* const* arguments, opyard::Value* result) {
  const std::vector<opyard::Value>& items = arguments[0]->to_list();
  *result = std::int64_t(std::count(items.begin(), items.end(), *arguments[1]));
}
void least_item(const opyard::Value* const* arguments, opyard::Value* result) {
  const std::vector<opyard::Value>& items = require_some(*arguments[0]);
  *result = *std::min_element(items.begin(), items.end(), &is_less);
}
void greatest_item(const opyard::Value* const* arguments, opyard::Value* result) {
  const std::vector<opyard::Value>& items = require_some(*arguments[0]);
  *result = *std::max_element(items.begin(), items.end(), &is_less);
}
void sum_of_ints(const opyard::Value* const* arguments, opyard::Value* result) {
  std::int64_t sum = 0;
  for (const opyard::Value& item : arguments[0]->to_list()) {
    sum = plus(sum, item.is_bool() ? std::int64_t{item.to_bool()} : item.to_int());
  }
  *result = sum;
}
void sum_of_floats(const opyard::Value* const* arguments, opyard::Value* result) {
  double sum = 0;
  for (const opyard::Value& item : arguments[0]->to_list()) sum += item.to_double();
  *result = sum;
}
void any_item(const opyard::Value* const* arguments, opyard::Value* result) {
  const std::vector<opyard::Value>& items = arguments[0]->to_list();
  *result = std::any_of(items.begin(), items.end(), &is_true);
}
void all_items(const opyard::Value* const* arguments, opyard::Value* result) {
  const std::vector<opyard::Value>& items = arguments[0]->to_list();
  *result = std::all_of(items.begin(), items.end(), &is_true);
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
