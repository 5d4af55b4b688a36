// c_api/values.cpp: the C API of reading values.
#include <fmt/format.h>

#include <algorithm>

#include "c_api/pointers.h"
#include "opyard/detail/value/dict_object.h"

namespace opyard::c_api {
namespace {

// What tells a value that no one counts; see value/value.h.
constexpr std::uint64_t kBorrowed = 2;

const std::vector<Value>& items_of(const Value& value) {
  return value.is_tuple() ? value.to_tuple() : value.to_list();
}

}  // namespace

opyard_value borrow(const Value& value) noexcept {
  opyard_value borrowed{};
  borrowed.kind = std::uint8_t(value.kind());
  if (is_heap(value.kind())) {
    borrowed.as.object = value.object_unchecked();
  } else {
    borrowed.as.integer = value.int_unchecked();  // the whole payload, whatever it is
  }
  return borrowed;
}

BorrowedValue::BorrowedValue(opyard_value value) {
  const Kind kind = require_kind(value.kind);
  if (!is_heap(kind)) {
    const Value plain = kind == Kind::Bool     ? Value(value.as.boolean)
                        : kind == Kind::Int    ? Value(value.as.integer)
                        : kind == Kind::Double ? Value(value.as.real)
                        : kind == Kind::Device
                            ? Value(Device{Backend(value.as.device.backend), value.as.device.index})
                            : Value();
    std::memcpy(bytes_, static_cast<const void*>(&plain), sizeof(bytes_));
    return;
  }
  if (value.as.object == nullptr && kind != Kind::Tensor) refuse_null("the object of a value");
  const std::uint64_t hold = value.as.object == nullptr ? 0 : kBorrowed;
  const std::uint64_t head = std::uint64_t(kind) | hold << 8;
  std::memcpy(bytes_, &head, sizeof(head));
  std::memcpy(bytes_ + sizeof(head), &value.as.object, sizeof(void*));
}

void write_text(std::string_view text, char* buffer, std::size_t capacity, std::size_t* bytes) {
  if (capacity > 0) {
    require(buffer, "a buffer");
    const std::size_t written = std::min(text.size(), capacity - 1);
    std::memcpy(buffer, text.data(), written);
    buffer[written] = '\0';
  }
  if (bytes != nullptr) *bytes = text.size();
}

namespace {

// Reads a value by `get` and writes what it gives.
template <typename T, typename Get>
int read_value(opyard_value value, T* result, const Get& get) {
  return border([&] {
    require(result, "the place of the result");
    const BorrowedValue borrowed(value);
    *result = get(*borrowed);
  });
}

}  // namespace
}  // namespace opyard::c_api

using namespace opyard;         // NOLINT
using namespace opyard::c_api;  // NOLINT

extern "C" {

int opyard_to_bool(opyard_value value, bool* result) {
  return read_value(value, result, [](const Value& v) { return v.to_bool(); });
}

int opyard_to_int(opyard_value value, int64_t* result) {
  return read_value(value, result, [](const Value& v) { return v.to_int(); });
}

int opyard_to_double(opyard_value value, double* result) {
  return read_value(value, result, [](const Value& v) { return v.to_double(); });
}

int opyard_to_complex(opyard_value value, double result[2]) {
  return border([&] {
    require(result, "the place of the result");
    const std::complex<double> number = BorrowedValue(value)->to_complex();
    result[0] = number.real();
    result[1] = number.imag();
  });
}

int opyard_to_string(opyard_value value, const char** text, size_t* bytes) {
  return border([&] {
    require(text, "the place of the result");
    const std::string_view view = BorrowedValue(value)->to_string_view();
    *text = view.data();
    if (bytes != nullptr) *bytes = view.size();
  });
}

int opyard_to_tensor(opyard_value value, opyard_tensor** tensor) {
  return read_value(value, tensor,
                    [](const Value& v) { return pointer_of(v.to_tensor().impl().get()); });
}

int opyard_to_capsule(opyard_value value, const char* name, void** pointer) {
  return read_value(value, pointer, [&](const Value& v) {
    const CapsuleObject& capsule = v.to_capsule();
    if (name != nullptr && capsule.name != name) {
      fail(ErrorKind::BadValue, fmt::format("a capsule \"{}\" was expected, but this one is \"{}\"",
                                            name, capsule.name));
    }
    return capsule.pointer;
  });
}

int opyard_size(opyard_value value, size_t* size) {
  return read_value(value, size, [](const Value& v) {
    return v.is_dict() ? v.to_dict().size() : items_of(v).size();
  });
}

int opyard_item(opyard_value value, size_t index, opyard_value* item) {
  return read_value(value, item, [&](const Value& v) {
    const std::vector<Value>& items = items_of(v);
    if (index >= items.size()) {
      fail(ErrorKind::BadIndex,
           fmt::format("element {} was asked for, but there are {}", index, items.size()));
    }
    return borrow(items[index]);
  });
}

int opyard_next_entry(opyard_value dict, size_t* position, opyard_value* key, opyard_value* item) {
  return border([&] {
    require(position, "a position");
    require(key, "the place of the key");
    require(item, "the place of the result");
    const BorrowedValue borrowed(dict);
    const DictObject& entries = borrowed->to_dict();
    const std::size_t found = entries.next(*position);
    if (found == DictObject::kEnd) fail(ErrorKind::NotFound, "the dict has no more entries");
    *key = borrow(entries.key_at(found));
    *item = borrow(entries.value_at(found));
    *position = found + 1;
  });
}

int opyard_value_text(opyard_value value, char* buffer, size_t capacity, size_t* bytes) {
  return border([&] { write_text(to_string(*BorrowedValue(value)), buffer, capacity, bytes); });
}

}  // extern "C"
