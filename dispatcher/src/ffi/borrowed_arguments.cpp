// ffi/borrowed_arguments.cpp: arguments borrowed from a C caller, as values.
#include "ffi/borrowed_arguments.h"

#include <fmt/format.h>

#include <utility>

#include "ffi/c_words.h"
#include "tensor/dlpack_view.h"

namespace opyard::ffi {

void BorrowedArguments::push_all(void** words, Stack& stack) {
  const std::vector<CPart>& parts = callee_.signature.arguments;
  for (; position_ < parts.size(); ++position_) {
    try {
      stack.push(value_of(parts[position_], words + parts[position_].parameter));
    } catch (const Error& error) {
      refuse_argument(callee_.op, position_, error.kind(), error.what());
    }
  }
}

void BorrowedArguments::check_given_back() const {
  for (const auto& [storage, position] : borrowed_) {
    if (storage->owner_count() == 1) continue;
    refuse_argument(
        callee_.op, position, ErrorKind::BadReturn,
        "its memory was borrowed for this call, and is still held: by a tensor that the "
        "kernel holds, or by a result that is a view of it; hold or return a clone()");
  }
}

Value BorrowedArguments::value_of(const CPart& part, void** words) {
  if (part.list) {
    return list_of(part, read_at<const void*>(words[0]), read_at<std::int64_t>(words[1]));
  }
  if (part.is_plain_number()) return read_number(part.element, words[0]);
  const void* const pointer = read_at<const void*>(words[0]);
  if (part.by_pointer && pointer != nullptr) return read_number(part.element, pointer);
  return value_at(part, pointer, part.optional);
}

Value BorrowedArguments::value_at(const CPart& part, const void* pointer, bool optional) {
  if (pointer == nullptr && part.element != CElement::Capsule) {
    if (optional) return Value();
    fail(ErrorKind::BadArgument,
         "a null pointer came, and the schema has no None here; write T? for what may be null");
  }
  switch (part.element) {
    case CElement::Text:
      return Value(std::string_view(static_cast<const char*>(pointer)));
    case CElement::Device:
      return Value(parse_device(static_cast<const char*>(pointer)));
    case CElement::Tensor: {
      Tensor tensor = borrow_dlpack(*static_cast<const dlpack::DLTensor*>(pointer), !part.written);
      borrowed_.push_back({tensor.impl()->storage(), position_});
      return Value(std::move(tensor));
    }
    default:  // a capsule
      if (optional && pointer == nullptr) return Value();
      return Value(CapsuleObject::adopt(const_cast<void*>(pointer), "", nullptr, nullptr));
  }
}

Value BorrowedArguments::list_of(const CPart& part, const void* data, std::int64_t size) {
  if (data == nullptr && part.optional) return Value();
  if (size < 0 || (data == nullptr && size != 0)) {
    fail(ErrorKind::BadArgument, fmt::format("a list of length {} came{}", size,
                                             data == nullptr ? " as a null pointer" : ""));
  }
  std::vector<Value> items;
  items.reserve(std::size_t(size));
  for (std::int64_t i = 0; i < size; ++i) {
    if (is_number(part.element)) {
      items.push_back(read_number(part.element, static_cast<const std::byte*>(data) +
                                                    i * std::int64_t(size_of(part.element))));
    } else {
      items.push_back(
          value_at(part, static_cast<const void* const*>(data)[i], part.optional_elements));
    }
  }
  return Value::list(std::move(items));
}

}  // namespace opyard::ffi
