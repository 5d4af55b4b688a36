// ir/builtins_dicts.cpp: built-in functions on dicts, with Python's meaning.
#include <fmt/format.h>

#include "ir/builtins.h"
#include "opyard/detail/value/dict_object.h"

namespace opyard::jit::detail {
namespace {

DictObject& dict_of(const opyard::Value& value) { return const_cast<DictObject&>(value.to_dict()); }

const opyard::Value& require_item(const DictObject& dict, const opyard::Value& key) {
  const opyard::Value* const found = dict.find(key);
  OPYARD_CHECK(found != nullptr, BadIndex,
               fmt::format("there is no key {} in the dict", repr(key)));
  return *found;
}

// A list of what `item_at` gives for each entry.
template <typename ItemAt>
opyard::Value listed(const DictObject& dict, ItemAt item_at) {
  std::vector<opyard::Value> items;
  items.reserve(dict.size());
  for (std::size_t at = dict.next(0); at != DictObject::kEnd; at = dict.next(at + 1)) {
    items.push_back(item_at(at));
  }
  return opyard::Value::list(std::move(items));
}

}  // namespace

void dict_item(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = require_item(arguments[0]->to_dict(), *arguments[1]);
}
void dict_length(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = std::int64_t(arguments[0]->to_dict().size());
}
void has_key(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = arguments[0]->to_dict().find(*arguments[1]) != nullptr;
}
void set_dict_item(const opyard::Value* const* arguments, opyard::Value*) {
  dict_of(*arguments[0]).insert_or_assign(*arguments[1], *arguments[2]);
}
void dict_keys(const opyard::Value* const* arguments, opyard::Value* result) {
  const DictObject& dict = arguments[0]->to_dict();
  *result = listed(dict, [&](std::size_t at) { return dict.key_at(at); });
}
void dict_values(const opyard::Value* const* arguments, opyard::Value* result) {
  const DictObject& dict = arguments[0]->to_dict();
  *result = listed(dict, [&](std::size_t at) { return dict.value_at(at); });
}
void dict_items(const opyard::Value* const* arguments, opyard::Value* result) {
  const DictObject& dict = arguments[0]->to_dict();
  *result = listed(dict, [&](std::size_t at) {
    return opyard::Value::tuple({dict.key_at(at), dict.value_at(at)});
  });
}
void dict_item_or_none(const opyard::Value* const* arguments, opyard::Value* result) {
  const opyard::Value* const found = arguments[0]->to_dict().find(*arguments[1]);
  *result = found == nullptr ? opyard::Value() : *found;
}
void dict_item_or_other(const opyard::Value* const* arguments, opyard::Value* result) {
  const opyard::Value* const found = arguments[0]->to_dict().find(*arguments[1]);
  *result = found == nullptr ? *arguments[2] : *found;
}
void pop_dict_item(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = require_item(arguments[0]->to_dict(), *arguments[1]);
  dict_of(*arguments[0]).erase(*arguments[1]);
}
void pop_dict_item_or_other(const opyard::Value* const* arguments, opyard::Value* result) {
  dict_item_or_other(arguments, result);
  dict_of(*arguments[0]).erase(*arguments[1]);
}
void set_default_item(const opyard::Value* const* arguments, opyard::Value* result) {
  dict_of(*arguments[0]).insert(*arguments[1], *arguments[2]);
  *result = require_item(arguments[0]->to_dict(), *arguments[1]);
}
void update_dict(const opyard::Value* const* arguments, opyard::Value*) {
  DictObject& dict = dict_of(*arguments[0]);
  const DictObject& more = arguments[1]->to_dict();
  if (&dict == &more) return;
  dict.reserve(dict.size() + more.size());
  for (std::size_t at = more.next(0); at != DictObject::kEnd; at = more.next(at + 1)) {
    dict.insert_or_assign(more.key_at(at), more.value_at(at));
  }
}
void delete_key(const opyard::Value* const* arguments, opyard::Value*) {
  const opyard::Value gone = require_item(arguments[0]->to_dict(), *arguments[1]);
  dict_of(*arguments[0]).erase(*arguments[1]);
}
void clear_dict(const opyard::Value* const* arguments, opyard::Value*) {
  dict_of(*arguments[0]).clear();
}
void empty_dict(const opyard::Value* const*, opyard::Value* result) {
  *result = opyard::Value::dict({});
}
void dict_of_items(const opyard::Value* const* arguments, opyard::Value* result) {
  const std::vector<opyard::Value>& items = arguments[0]->to_list();
  opyard::Value made = opyard::Value::dict({});
  DictObject& dict = dict_of(made);
  dict.reserve(items.size());
  for (const opyard::Value& item : items) {
    const std::vector<opyard::Value>& pair = item.to_tuple();
    dict.insert_or_assign(pair[0], pair[1]);
  }
  *result = std::move(made);
}
void copy_of_dict(const opyard::Value* const* arguments, opyard::Value* result) {
  const DictObject& dict = arguments[0]->to_dict();
  std::vector<std::pair<opyard::Value, opyard::Value>> entries;
  entries.reserve(dict.size());
  for (std::size_t at = dict.next(0); at != DictObject::kEnd; at = dict.next(at + 1)) {
    entries.emplace_back(dict.key_at(at), dict.value_at(at));
  }
  *result = opyard::Value::dict(std::move(entries));
}

}  // namespace opyard::jit::detail
