// value/alias.cpp: reachability and memory comparison of values.
#include "opyard/value/alias.h"

#include <algorithm>
#include <unordered_set>

#include "opyard/detail/value/dict_object.h"
#include "opyard/detail/value/future_object.h"
#include "value/kind_set.h"

namespace opyard {
namespace {

// What two aliases have in common: the storage of a tensor, the object of an interpreter that two
// values may own, else the value's object; null for what aliases nothing.
const void* memory_of(const Value& value) noexcept {
  switch (value.kind()) {
    case Kind::Tensor: {
      const Tensor& tensor = value.tensor_unchecked();
      return tensor.defined() ? tensor.impl()->storage().get() : nullptr;
    }
    case Kind::PyObject:
      return value.to_foreign().object;
    default:
      return (detail::set_of(value.kind()) & detail::kind_set::Shared) != 0
                 ? value.object_unchecked()
                 : nullptr;
  }
}

// Equal for the same value, and different for two views of one memory.
const void* identity_of(const Value& value) noexcept {
  return value.is_foreign() ? value.to_foreign().object : value.object_unchecked();
}

void append_elements(const Value& value, std::vector<Value>& found) {
  switch (value.kind()) {
    case Kind::List:
    case Kind::Tuple:
      found.insert(found.end(), value.items_unchecked().begin(), value.items_unchecked().end());
      return;
    case Kind::Dict: {
      const DictObject& dict = value.to_dict();
      for (std::size_t at = dict.next(0); at != DictObject::kEnd; at = dict.next(at + 1)) {
        found.push_back(dict.key_at(at));
        found.push_back(dict.value_at(at));
      }
      return;
    }
    case Kind::Object:
      return value.to_object().append_values(found);
    case Kind::Future:
      if (value.to_future().has_value()) found.push_back(value.to_future().value());
      return;
    default:
      return;
  }
}

}  // namespace

bool is_alias_of(const Value& a, const Value& b) noexcept {
  const void* const memory = memory_of(a);
  return memory != nullptr && memory == memory_of(b);
}

std::vector<Value> sub_values(const Value& value) {
  std::vector<Value> found;
  if (memory_of(value) == nullptr) return found;
  found.push_back(value);
  std::unordered_set<const void*> seen{identity_of(value)};
  std::vector<Value> elements;
  for (std::size_t i = 0; i < found.size(); ++i) {
    elements.clear();
    append_elements(found[i], elements);
    for (Value& element : elements) {
      if (memory_of(element) == nullptr || !seen.insert(identity_of(element)).second) continue;
      found.push_back(std::move(element));
    }
  }
  return found;
}

bool overlaps(const Value& a, const Value& b) {
  std::unordered_set<const void*> memory;
  for (const Value& value : sub_values(a)) memory.insert(memory_of(value));
  const std::vector<Value> others = sub_values(b);
  return std::ranges::any_of(others,
                             [&](const Value& value) { return memory.contains(memory_of(value)); });
}

}  // namespace opyard
