// schema/plain_kinds.cpp: the part of a type check that a call can do with one bit test.
#include "opyard/schema/type.h"

namespace opyard {
namespace {

constexpr std::uint64_t bit(Kind kind) { return std::uint64_t{1} << int(kind); }

}  // namespace

std::uint64_t plain_kinds(const Type& type) {
  switch (type.kind()) {
    case TypeKind::Tensor:
      return bit(Kind::Tensor) | bit(Kind::None);
    case TypeKind::SymInt:
      return bit(Kind::Int) | bit(Kind::SymInt);
    case TypeKind::SymFloat:
      return bit(Kind::Double) | bit(Kind::SymFloat);
    case TypeKind::SymBool:
      return bit(Kind::Bool) | bit(Kind::SymBool);
    case TypeKind::Int:
    case TypeKind::DeviceIndex:
    case TypeKind::ScalarType:
    case TypeKind::Layout:
    case TypeKind::MemoryFormat:
    case TypeKind::QScheme:
      return bit(Kind::Int);
    case TypeKind::Float:
      return bit(Kind::Double);
    case TypeKind::Bool:
      return bit(Kind::Bool);
    case TypeKind::Scalar:
      return bit(Kind::Int) | bit(Kind::Double) | bit(Kind::Bool) | bit(Kind::Complex);
    case TypeKind::Complex:
      return bit(Kind::Complex);
    case TypeKind::Str:
    case TypeKind::Dimname:
      return bit(Kind::String);
    case TypeKind::Device:
      return bit(Kind::Device);
    case TypeKind::Generator:
      return bit(Kind::Generator);
    case TypeKind::Storage:
      return bit(Kind::Storage);
    case TypeKind::Stream:
      return bit(Kind::Stream);
    case TypeKind::Capsule:
      return bit(Kind::Capsule);
    case TypeKind::AnyClass:
      return bit(Kind::Object);
    case TypeKind::AnyEnum:
      return bit(Kind::Enum);
    case TypeKind::None:
      return bit(Kind::None);
    case TypeKind::Any:
    case TypeKind::Variable:
      return ~std::uint64_t{0};
    case TypeKind::Optional:
      return bit(Kind::None) | plain_kinds(type.element());
    case TypeKind::Future:
      return plain_kinds(type.element()) == ~std::uint64_t{0} ? bit(Kind::Future) : 0;
    default:
      return 0;
  }
}

}  // namespace opyard
