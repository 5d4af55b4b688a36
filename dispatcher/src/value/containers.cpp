// value/containers.cpp: untyped parts of List and Dict.
#include <fmt/format.h>

#include "opyard/value/dict.h"
#include "opyard/value/list.h"

namespace opyard::detail {

void refuse_index(std::size_t index, std::size_t size) {
  fail(ErrorKind::BadIndex, size == 0
                                ? "the list is empty"
                                : fmt::format("index {} is out of range for a list of {} element{}",
                                              std::ptrdiff_t(index), size, size == 1 ? "" : "s"));
}

void refuse_missing(const Value& key) {
  fail(ErrorKind::BadIndex, fmt::format("the dict has no entry with the key {}", repr(key)));
}

CountedPtr<ListObject> list_object(const Value& value) {
  value.to_list();  // raises if it is none
  return CountedPtr<ListObject>::share(static_cast<ListObject*>(value.object_unchecked()));
}

CountedPtr<DictObject> dict_object(const Value& value) {
  value.to_dict();  // raises if it is none
  return CountedPtr<DictObject>::share(static_cast<DictObject*>(value.object_unchecked()));
}

CountedPtr<DictObject> copy_entries(const DictObject& dict) {
  auto copy = make_counted<DictObject>();
  copy->reserve(dict.size());
  for (std::size_t at = dict.next(0); at != DictObject::kEnd; at = dict.next(at + 1)) {
    copy->insert(dict.key_at(at), dict.value_at(at));
  }
  return copy;
}

}  // namespace opyard::detail
