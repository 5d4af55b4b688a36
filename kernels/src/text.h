// kernels/text.h: error sentences put together from pieces, without a formatting library.
//
//   refuse(ErrorKind::BadShape, {op, ": self is ", self, "; two dimensions are needed"});
//
// A piece is text, a number, a dtype ("float32"), sizes ("[2, 3]"), or a tensor
// ("float32[2, 3]"). Pieces only point at what they show, so that a check costs nothing until
// it fails, and no kernel compiles a formatter.
//
// Depends on: opyard/tensor.h, opyard/value/scalar.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "opyard/tensor.h"
#include "opyard/value/scalar.h"

namespace opyard::kernels {

class Piece {
 public:
  Piece(const char* text) : kind_(Kind::Text), text_(text) {}             // NOLINT
  Piece(std::string_view text) : kind_(Kind::Text), text_(text) {}        // NOLINT
  Piece(const std::string& text) : kind_(Kind::Text), text_(text) {}      // NOLINT
  Piece(DType dtype) : kind_(Kind::Text), text_(name_of(dtype)) {}        // NOLINT
  Piece(IntSpan sizes) : kind_(Kind::Sizes), sizes_(sizes) {}             // NOLINT
  Piece(const DimVector& sizes) : kind_(Kind::Sizes), sizes_(sizes) {}    // NOLINT
  Piece(const Tensor& tensor) : kind_(Kind::Tensor), object_(&tensor) {}  // NOLINT
  Piece(const Scalar& number) : kind_(Kind::Scalar), object_(&number) {}  // NOLINT
  template <std::integral I>
  Piece(I number) : kind_(Kind::Number), number_(std::int64_t(number)) {}  // NOLINT

  void append_to(std::string& out) const;

 private:
  enum class Kind : std::uint8_t { Text, Number, Sizes, Tensor, Scalar };
  Kind kind_;
  std::string_view text_;
  std::int64_t number_ = 0;
  IntSpan sizes_;
  const void* object_ = nullptr;
};

std::string text_of(std::initializer_list<Piece> pieces);

// Throws an Error with the sentence.
[[noreturn]] OPYARD_COLD void refuse(ErrorKind kind, std::initializer_list<Piece> pieces);

}  // namespace opyard::kernels
