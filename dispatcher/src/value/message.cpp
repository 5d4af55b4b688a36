// value/message.cpp: assembling messages from pieces.
#include "opyard/value/message.h"

namespace opyard {

void Piece::append_to(std::string& out) const {
  switch (kind_) {
    case Kind::Text:
      out += text_;
      return;
    case Kind::Number:
      out += std::to_string(number_);
      return;
    case Kind::Real:
      out += to_string(Value(real_));
      return;
    case Kind::Device:
      out += to_string(*static_cast<const opyard::Device*>(object_));
      return;
    case Kind::Sizes:
      out += describe_sizes(sizes_);
      return;
    case Kind::Tensor:
      out += describe(*static_cast<const opyard::Tensor*>(object_));
      return;
    case Kind::Scalar:
      out += to_string(static_cast<const opyard::Scalar*>(object_)->value());
      return;
  }
}

std::string text_of(std::initializer_list<Piece> pieces) {
  std::string text;
  for (const Piece& piece : pieces) piece.append_to(text);
  return text;
}

void refuse(ErrorKind kind, std::initializer_list<Piece> pieces) { fail(kind, text_of(pieces)); }

}  // namespace opyard
