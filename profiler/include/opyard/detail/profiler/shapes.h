// opyard/detail/profiler/shapes.h: argument facts, as words behind an operator's event.
//
// For each argument one head, low bits first: what it is (8 bits), dtype or kind of value (8 bits),
// the number of dimensions or of items (16 bits), and which words follow (4 bits). Of a tensor
// follow its sizes, its strides unless it is contiguous, and the address of its memory if that was
// asked for; of a list its tensors, or its integers; of a number the number. What does not fit
// behind an event is left out, and its text ends with "…".
//
// Depends on: profiler/event.h, value/value.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "opyard/base/export.h"
#include "opyard/profiler/event.h"
#include "opyard/value/value.h"

namespace opyard::profiler {

class ShapeWords {
 public:
  OPYARD_API explicit ShapeWords(std::span<const Value> arguments,
                                 bool with_addresses = false) noexcept;
  const Payload* data() const noexcept { return words_; }
  std::size_t count() const noexcept { return (used_ + 1) / 2; }

 private:
  static constexpr std::size_t kMost = 2 * 255;
  bool has_room(std::size_t count) const noexcept { return used_ + count <= kMost - 1; }
  bool put(std::uint64_t number) noexcept;
  bool put_tensor(const Tensor& tensor, bool with_address) noexcept;
  bool put_plain(const Value& value) noexcept;

  Payload words_[kMost / 2];
  std::size_t used_ = 0;
};

// As JSON, an item an argument. Of a list of tensors sizes, strides and addresses are lists.
struct ShapeTexts {
  std::string sizes;      // [[2, 3], [], [[4], [4]]]
  std::string types;      // ["float32", "Int", "list of float32"]
  std::string strides;    // [[3, 1], [], [[1], [1]]]
  std::string values;     // ["", "2", ""]: texts of numbers, of their lists, and of None
  std::string addresses;  // [94023, 0, [94087, 94151]]: 0 for what has no memory, or none was kept
};
OPYARD_API ShapeTexts read_shapes(std::span<const Payload> words);

// The addresses of memory among the words; see detail/profiler/lives.h.
OPYARD_API std::vector<std::uint64_t> addresses_of(std::span<const Payload> words);

}  // namespace opyard::profiler
