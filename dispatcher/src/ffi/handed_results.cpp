// ffi/handed_results.cpp: results of an operator in the out-pointers of a C caller.
#include "ffi/handed_results.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "ffi/c_words.h"

namespace opyard::ffi {

HandedResult::HandedResult(const Callee& callee, std::size_t position, void** words)
    : part_(callee.signature.results[position]) {
  if (part_.alias_of >= 0) return;
  place_ = read_at<void*>(words[part_.parameter]);
  if (part_.list) size_place_ = read_at<std::int64_t*>(words[part_.parameter + 1]);
  if (place_ == nullptr || (part_.list && size_place_ == nullptr)) {
    refuse_result(callee.op, position, ErrorKind::BadArgument,
                  "the pointer to where it goes is null");
  }
}

// Only before anything is prepared.
HandedResult::HandedResult(HandedResult&& other) noexcept
    : part_(other.part_),
      place_(other.place_),
      size_place_(other.size_place_),
      memory_(std::exchange(other.memory_, nullptr)),
      tensor_(std::exchange(other.tensor_, nullptr)) {}

HandedResult::~HandedResult() {
  std::free(memory_);
  if (tensor_ != nullptr) tensor_->deleter(tensor_);
}

void HandedResult::take_memory(std::size_t bytes) {
  memory_ = std::malloc(bytes);
  if (memory_ == nullptr) throw std::bad_alloc();
}

void HandedResult::prepare_list(const std::vector<Value>& items) {
  size_ = std::int64_t(items.size());
  if (items.empty()) return;
  const std::size_t size = size_of(part_.element);
  take_memory(items.size() * size);
  for (std::size_t i = 0; i < items.size(); ++i) {
    write_number(part_.element, items[i], static_cast<std::byte*>(memory_) + i * size);
  }
}

void HandedResult::prepare_text(std::string_view text) {
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos) {
    fail(ErrorKind::BadReturn,
         fmt::format("the text has a zero byte at position {}, where it would end in C", zero));
  }
  take_memory(text.size() + 1);
  std::memcpy(memory_, text.data(), text.size());
  static_cast<char*>(memory_)[text.size()] = '\0';
}

void HandedResult::prepare(Value value) {
  if (part_.alias_of >= 0) return;  // the caller has it
  if (part_.list) return prepare_list(value.to_list());
  if (is_number(part_.element)) return write_number(part_.element, value, number_);
  if (part_.optional && value.is_none()) return;
  switch (part_.element) {
    case CElement::Tensor:
      if (part_.optional && !value.to_tensor().defined()) return;
      tensor_ = to_dlpack_versioned(value.is_none() ? Tensor() : value.to_tensor());
      return;
    case CElement::Device:
      return prepare_text(to_string(value.to_device()));
    default:
      return prepare_text(value.to_string_view());
  }
}

void HandedResult::write() noexcept {
  if (part_.alias_of >= 0) return;
  if (is_number(part_.element) && !part_.list) {
    std::memcpy(place_, number_, size_of(part_.element));
  } else if (part_.element == CElement::Tensor) {
    *static_cast<dlpack::DLManagedTensorVersioned**>(place_) = std::exchange(tensor_, nullptr);
  } else {
    *static_cast<void**>(place_) = std::exchange(memory_, nullptr);
    if (part_.list) *size_place_ = size_;
  }
}

}  // namespace opyard::ffi
