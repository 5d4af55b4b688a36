// ffi/c_arguments.h: arguments of a C function as words.
//
// Depends on: ffi/c_words.h, ffi/call_memory.h.
#pragma once

#include <string_view>

#include "ffi/c_words.h"
#include "ffi/call_memory.h"
#include "tensor/dlpack_view.h"

namespace opyard::ffi {

// Writes the words of one argument after another. What they point to is in the values and in the
// memory of the call.
class ArgumentWriter {
 public:
  ArgumentWriter(Word* words, CallMemory& memory) : words_(words), memory_(memory) {}

  // Raises an Error that does not say which argument.
  void write(const CPart& part, const Value& value) {
    if (__builtin_expect(part.list, 0)) return write_list(part, value);
    Word& word = words_[part.word];
    if (part.is_plain_number()) {
      write_number(part.element, value, &word);
    } else if (part.element == CElement::Tensor) {
      word.pointer = view_of(part, value, part.optional);
    } else {
      word.pointer = is_number(part.element) ? pointer_to_number(part, value)
                                             : pointer_of(part, value, part.optional);
    }
  }

 private:
  const dlpack::DLTensor* view_of(const CPart& part, const Value& value, bool optional) {
    if (__builtin_expect(value.is_none() || !value.to_tensor().defined(), 0)) {
      return view_of_none(optional);
    }
    const Tensor& tensor = value.tensor_unchecked();
    if (part.written) tensor.count_write();
    auto* const view = memory_.take<dlpack::DLTensor>(1);
    view_as_dlpack(tensor, *view);
    return view;
  }
  static const dlpack::DLTensor* view_of_none(bool optional);
  const void* pointer_to_number(const CPart& part, const Value& value);
  // Of a text, device, tensor or capsule.
  const void* pointer_of(const CPart& part, const Value& value, bool optional);
  void write_list(const CPart& part, const Value& value);

  Word* const words_;
  CallMemory& memory_;
};

}  // namespace opyard::ffi
