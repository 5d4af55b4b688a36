// schema/declared_writes.cpp: reading writes and views of a schema, and counting writes of a call.
#include "opyard/detail/schema/declared_writes.h"

#include <algorithm>

#include "opyard/detail/value/dict_object.h"

namespace opyard {
namespace {

// The sets of an argument or result, or of the tensors in its list.
const std::vector<std::string>& sets_of(const Argument& argument) {
  const AliasInfo& alias = *argument.alias;
  const bool of_items = alias.before.empty() && !alias.contained.empty();
  return of_items ? alias.contained.front().before : alias.before;
}

bool is_same_argument(const Argument& argument, const Argument& result) {
  if (argument.type->kind() != result.type->kind()) return false;
  return std::ranges::any_of(sets_of(argument), [&](const std::string& set) {
    return std::ranges::find(sets_of(result), set) != sets_of(result).end();
  });
}

}  // namespace

int returned_argument(const Schema& schema, const Argument& result) {
  if (!result.alias || !result.is_write()) return kNoArgument;
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
    const Argument& argument = schema.arguments[i];
    if (argument.alias && argument.is_write() && is_same_argument(argument, result)) return int(i);
  }
  return kNoArgument;
}

namespace {

int position_of_viewed(const Schema& schema, const Argument& result) {
  if (!result.alias) return kNoArgument;
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
    const Argument& argument = schema.arguments[i];
    if (!argument.alias || argument.is_write()) continue;
    for (const std::string& set : argument.alias->before) {
      const std::vector<std::string>& sets = sets_of(result);
      if (std::ranges::find(sets, set) != sets.end()) return int(i);
    }
  }
  return kNoArgument;
}

template <typename Position>
std::vector<int> by_result(const Schema& schema, const Position& position) {
  std::vector<int> found;
  for (const Argument& result : schema.results) found.push_back(position(schema, result));
  const auto is_none = [](int argument) { return argument == kNoArgument; };
  if (std::ranges::all_of(found, is_none)) found.clear();
  return found;
}

}  // namespace

std::vector<int> returned_arguments(const Schema& schema) {
  return by_result(schema, returned_argument);
}
std::vector<int> viewed_arguments(const Schema& schema) {
  return by_result(schema, position_of_viewed);
}

void DeclaredWrites::add(const Tensor& tensor) {
  if (tensor.defined()) written_.push_back({tensor, tensor.impl()->storage()->version()});
}

void DeclaredWrites::add(const Value& value) {
  if (value.is_list() || value.is_tuple()) {
    for (const Value& item : value.items_unchecked()) add(item);
  } else if (value.is_dict()) {
    const DictObject& dict = value.to_dict();
    for (std::size_t i = dict.next(0); i != DictObject::kEnd; i = dict.next(i + 1)) {
      add(dict.value_at(i));
    }
  } else if (value.is_tensor()) {
    add(value.tensor_unchecked());
  }
}

void DeclaredWrites::count() const noexcept {
  for (const Written& one : written_) {
    Storage& storage = *one.tensor.impl()->storage();
    if (storage.version() == one.version) storage.bump_version();
  }
}

}  // namespace opyard
