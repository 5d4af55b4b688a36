// ffi/c_results.cpp: results from a C function's out-pointers.
#include "ffi/c_results.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

namespace opyard::ffi {
namespace {

void release_part(const CPart& part, Out& out) noexcept {
  if (part.alias_of >= 0) return;
  if (part.list) {
    std::free(out.list.data);
  } else if (part.element == CElement::Tensor) {
    if (out.tensor != nullptr && out.tensor->deleter != nullptr) out.tensor->deleter(out.tensor);
  } else if (!is_number(part.element)) {
    std::free(out.text);
  }
}

}  // namespace

OutPlaces::OutPlaces(const CKernel& kernel, CallMemory& memory)
    : kernel_(kernel), places_(memory.take<Out>(parts().size())) {
  std::memset(places_, 0, parts().size() * sizeof(Out));
}

OutPlaces::~OutPlaces() {
  if (!handed_over_) return;
  for (std::size_t i = 0; i < parts().size(); ++i) release_part(parts()[i], places_[i]);
}

void OutPlaces::write_pointers(Word* words) const {
  for (std::size_t i = 0; i < parts().size(); ++i) {
    const CPart& part = parts()[i];
    if (part.alias_of >= 0) continue;
    words[part.word].pointer = part.list ? static_cast<void*>(&places_[i].list.data) : &places_[i];
    if (part.list) words[part.size_word].pointer = &places_[i].list.size;
  }
}
void OutPlaces::refuse(std::size_t position, std::string_view left) const {
  refuse_result(kernel_.op, position, ErrorKind::BadReturn,
                fmt::format("the C function {} left {}, but the schema says {}", kernel_.shown,
                            left, to_string(*kernel_.op.schema().results[position].type)));
}

Value OutPlaces::take_list(std::size_t position, const CPart& part, const Out& out) const {
  if (out.list.size < 0) refuse(position, fmt::format("a list of length {}", out.list.size));
  if (out.list.size > 0 && out.list.data == nullptr) {
    refuse(position, fmt::format("a null pointer as a list of length {}", out.list.size));
  }
  std::vector<Value> items;
  const auto* at = static_cast<const std::byte*>(out.list.data);
  for (std::int64_t i = 0; i < out.list.size; ++i, at += size_of(part.element)) {
    items.push_back(read_number(part.element, at));
  }
  return Value::list(std::move(items));
}

Value OutPlaces::take(std::size_t position, std::span<const Value> arguments) {
  const CPart& part = parts()[position];
  Out& out = places_[position];
  if (part.alias_of >= 0) return arguments[std::size_t(part.alias_of)];
  if (part.list) return take_list(position, part, out);
  if (is_number(part.element)) return read_number(part.element, &out);
  if (out.text == nullptr) {  // or out.tensor
    if (part.optional) return Value();
    refuse(position, "a null pointer");
  }
  try {
    if (part.element == CElement::Tensor) {
      return Value(from_dlpack(std::exchange(out.tensor, nullptr)));
    }
    if (part.element == CElement::Device) return Value(parse_device(out.text));
    return Value(std::string_view(out.text));
  } catch (const Error& error) {
    refuse_result(kernel_.op, position, error.kind(),
                  fmt::format("the C function {} left what cannot be taken: {}", kernel_.shown,
                              error.what()));
  }
}

}  // namespace opyard::ffi
