// opyard/value/message.h: error sentences put together from pieces, without a formatting library.
//
//   OPYARD_REQUIRE(x.dim() == 2, BadShape, "demo::sums: x is ", x, "; two dimensions are needed");
//   refuse(ErrorKind::BadShape, {op, ": x is ", x, "; two dimensions are needed"});
//
// A piece is text, a number, a bool, a dtype ("float32"), a device ("cpu"), sizes ("[2, 3]"), or a
// tensor ("float32[2, 3]"). Pieces only point at what they show, so that a check costs nothing
// until it fails, and no kernel compiles a formatter.
//
// Depends on: tensor/{tensor,device}.h, value/scalar.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "opyard/tensor/device.h"
#include "opyard/tensor/tensor.h"
#include "opyard/value/scalar.h"

namespace opyard {

class OPYARD_API Piece {
 public:
  Piece(const char* text) : kind_(Kind::Text), text_(text) {}                // NOLINT
  Piece(std::string_view text) : kind_(Kind::Text), text_(text) {}           // NOLINT
  Piece(const std::string& text) : kind_(Kind::Text), text_(text) {}         // NOLINT
  Piece(DType dtype) : kind_(Kind::Text), text_(name_of(dtype)) {}           // NOLINT
  Piece(IntSpan sizes) : kind_(Kind::Sizes), sizes_(sizes) {}                // NOLINT
  Piece(const DimVector& sizes) : kind_(Kind::Sizes), sizes_(sizes) {}       // NOLINT
  Piece(const Tensor& tensor) : kind_(Kind::Tensor), object_(&tensor) {}     // NOLINT
  Piece(const Scalar& number) : kind_(Kind::Scalar), object_(&number) {}     // NOLINT
  Piece(const Device& device) : kind_(Kind::Device), object_(&device) {}     // NOLINT
  Piece(bool truth) : kind_(Kind::Text), text_(truth ? "True" : "False") {}  // NOLINT
  Piece(double number) : kind_(Kind::Real), real_(number) {}                 // NOLINT
  template <std::integral I>
    requires(!std::same_as<I, bool>)
  Piece(I number) : kind_(Kind::Number), number_(std::int64_t(number)) {}  // NOLINT

  void append_to(std::string& out) const;

 private:
  enum class Kind : std::uint8_t { Text, Number, Real, Sizes, Tensor, Scalar, Device };
  Kind kind_;
  std::string_view text_;
  std::int64_t number_ = 0;
  double real_ = 0;
  IntSpan sizes_;
  const void* object_ = nullptr;
};

// The pieces one after the other, without a space between them.
OPYARD_API std::string text_of(std::initializer_list<Piece> pieces);

// Throws an Error with the sentence.
[[noreturn]] OPYARD_API OPYARD_COLD void refuse(ErrorKind kind,
                                                std::initializer_list<Piece> pieces);

}  // namespace opyard

// The caller is wrong unless the condition holds: throws Error of the kind, with a sentence of all
// pieces that follow.
#define OPYARD_REQUIRE(condition, kind, ...)                      \
  do {                                                            \
    if (__builtin_expect(!(condition), 0)) {                      \
      ::opyard::refuse(::opyard::ErrorKind::kind, {__VA_ARGS__}); \
    }                                                             \
  } while (false)
