// opyard/profiler/shapes.h: argument shapes and dtypes, as words behind an operator's event.
//
// For each argument one number, low bits first: what it is (8 bits), dtype or kind of value (8
// bits), and the number of dimensions or of items (16 bits); of a tensor its sizes follow, of a
// list its tensors. What does not fit behind an event is left out, and its text ends with "…".
//
// Depends on: profiler/event.h, value/value.h.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "opyard/base/export.h"
#include "opyard/profiler/event.h"
#include "opyard/value/value.h"

namespace opyard::profiler {

class ShapeWords {
 public:
  OPYARD_API explicit ShapeWords(std::span<const Value> arguments) noexcept;
  const Payload* data() const noexcept { return words_; }
  std::size_t count() const noexcept { return (used_ + 1) / 2; }

 private:
  static constexpr std::size_t kMost = 2 * 255;
  bool put(std::uint64_t number) noexcept;

  Payload words_[kMost / 2];
  std::size_t used_ = 0;
};

// As JSON: "[[2, 3], [], [[4], [4]]]" and "["float32", "int", "list"]".
struct ShapeTexts {
  std::string sizes;
  std::string types;
};
OPYARD_API ShapeTexts read_shapes(std::span<const Payload> words);

}  // namespace opyard::profiler
