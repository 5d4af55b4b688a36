// ffi/c_arguments.cpp: arguments of a C function as words.
#include "ffi/c_arguments.h"

#include <fmt/format.h>

#include <cstring>

namespace opyard::ffi {
namespace {

// The text of a value is stored in a std::string, and so has a zero byte behind it.
const char* text_of(std::string_view text) {
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos) {
    fail(ErrorKind::BadValue,
         fmt::format(
             "the text has a zero byte at position {}, where it would end in C; take the zero "
             "byte out",
             zero));
  }
  return text.data();
}

}  // namespace

const dlpack::DLTensor* ArgumentWriter::view_of_none(bool optional) {
  if (optional) return nullptr;
  fail(ErrorKind::BadArgument,
       "the tensor is undefined, and a C function is given one that is there; write Tensor? in the "
       "schema to give it a null pointer");
}

const void* ArgumentWriter::pointer_to_number(const CPart& part, const Value& value) {
  if (part.optional && value.is_none()) return nullptr;
  auto* const bytes = memory_.take<std::byte>(size_of(part.element));
  write_number(part.element, value, bytes);
  return bytes;
}

const void* ArgumentWriter::pointer_of(const CPart& part, const Value& value, bool optional) {
  if (optional && value.is_none()) return nullptr;
  switch (part.element) {
    case CElement::Text:
      return text_of(value.to_string_view());
    case CElement::Device: {
      const std::string text = to_string(value.to_device());
      auto* const copy = memory_.take<char>(text.size() + 1);
      std::memcpy(copy, text.c_str(), text.size() + 1);
      return copy;
    }
    case CElement::Capsule:
      return value.to_capsule().pointer;
    default:
      return view_of(part, value, optional);
  }
}

void ArgumentWriter::write_list(const CPart& part, const Value& value) {
  if (part.optional && value.is_none()) {
    words_[part.word].pointer = nullptr;
    words_[part.size_word].integer = 0;
    return;
  }
  const std::vector<Value>& items = value.to_list();
  words_[part.size_word].integer = items.size();
  if (is_number(part.element)) {
    const std::size_t size = size_of(part.element);
    auto* const numbers = memory_.take<std::byte>(items.size() * size);
    for (std::size_t i = 0; i < items.size(); ++i) {
      write_number(part.element, items[i], numbers + i * size);
    }
    words_[part.word].pointer = numbers;
    return;
  }
  auto* const pointers = memory_.take<const void*>(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    pointers[i] = pointer_of(part, items[i], part.optional_elements);
  }
  words_[part.word].pointer = pointers;
}

}  // namespace opyard::ffi
