// test/fuzz/value.cpp: fuzzer of default values: printed and parsed as the same value.
//
// The bytes are choices: a type, then a value of it. They make a schema without the parser's
// help, so what is checked is that print and parser agree on every literal that can be written.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "entries.h"
#include "opyard/schema/parse.h"
#include "utf8.h"

namespace opyard::fuzz {
namespace {

// Hands out the bytes one after another; zeros when they are used up.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}

  std::size_t below(std::size_t count) { return byte() % count; }
  bool chance(std::size_t count) { return below(count) == 0; }
  std::uint64_t word() {
    std::uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits = bits << 8 | byte();
    return bits;
  }
  std::string text() {
    std::string out;
    for (std::size_t left = below(32); left > 0; --left) out += char(byte());
    return is_utf8(out) ? out : std::to_string(out.size());
  }

 private:
  unsigned char byte() {
    return at_ < bytes_.size() ? static_cast<unsigned char>(bytes_[at_++]) : 0;
  }

  const std::string_view bytes_;
  std::size_t at_ = 0;
};

constexpr TypeKind kBases[] = {TypeKind::Int,          TypeKind::SymInt, TypeKind::DeviceIndex,
                               TypeKind::ScalarType,   TypeKind::Layout, TypeKind::QScheme,
                               TypeKind::MemoryFormat, TypeKind::Float,  TypeKind::Bool,
                               TypeKind::SymBool,      TypeKind::Scalar, TypeKind::Str,
                               TypeKind::Device,       TypeKind::Any,    TypeKind::None,
                               TypeKind::SymFloat,     TypeKind::Dimname};

// Members that no literal can be taken for another's: a union knows its member by the literal.
TypePtr union_type(Choices& choices) {
  std::vector<TypePtr> members = {base_type(TypeKind::Int), base_type(TypeKind::Str)};
  if (choices.chance(2)) members.push_back(base_type(TypeKind::Bool));
  if (choices.chance(2)) members.push_back(base_type(TypeKind::None));
  return compound_type(TypeKind::Union, std::move(members));
}

TypePtr type(Choices& choices, int depth) {
  if (depth > 0) {
    switch (choices.below(6)) {
      case 0:
        return list_of(type(choices, depth - 1), std::int64_t(choices.below(4)));
      case 1:
        return optional_of(type(choices, depth - 1));
      case 2:
        return union_type(choices);
      default:
        break;
    }
  }
  return base_type(kBases[choices.below(std::size(kBases))]);
}

double real(Choices& choices) {
  const double value = std::bit_cast<double>(choices.word());
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

Value number(Choices& choices) {
  if (choices.chance(3)) return Value(choices.chance(2));
  if (choices.chance(2)) return Value(std::int64_t(choices.word()));
  return Value(real(choices));
}

Value list(Choices& choices, const Type& element);

Value value(Choices& choices, const Type& type) {
  switch (type.kind()) {
    case TypeKind::Float:
    case TypeKind::SymFloat:
      return Value(real(choices));
    case TypeKind::Bool:
    case TypeKind::SymBool:
      return Value(choices.chance(2));
    case TypeKind::Scalar:
      return number(choices);
    case TypeKind::Str:
    case TypeKind::Dimname:
      return Value(std::string_view(choices.text()));
    case TypeKind::Device:
      return Value(Device{Backend(choices.below(std::size_t(kBackendCount))),
                          std::int16_t(int(choices.below(200)) - 1)});
    case TypeKind::None:
      return Value();
    case TypeKind::Any:
      return choices.chance(4) ? Value() : number(choices);
    case TypeKind::Optional:
      return choices.chance(3) ? Value() : value(choices, type.element());
    case TypeKind::Union:
      return value(choices, *type.elements()[choices.below(type.elements().size())]);
    case TypeKind::List:
      return list(choices, type.element());
    default:
      return Value(std::int64_t(choices.word()));
  }
}

Value list(Choices& choices, const Type& element) {
  std::vector<Value> items;
  for (std::size_t left = choices.below(5); left > 0; --left) {
    items.push_back(value(choices, element));
  }
  return Value::list(std::move(items));
}

bool has_nan(const Value& value) {
  if (value.is_double()) return std::isnan(value.to_double());
  if (!value.is_list()) return false;
  for (const Value& item : value.to_list()) {
    if (has_nan(item)) return true;
  }
  return false;
}

}  // namespace

bool value(std::string_view bytes) {
  Choices choices(bytes);
  Argument argument;
  argument.name = "x";
  argument.type = type(choices, 4);
  argument.default_value = value(choices, *argument.type);
  require(accepts(*argument.type, *argument.default_value), "a type accepts a value of it");
  require(
      has_nan(*argument.default_value) || *argument.default_value == Value(*argument.default_value),
      "a copy is equal");
  require(is_utf8(to_string(*argument.default_value)), "the print of a value is text");
  Schema schema;
  schema.name.name = "f";
  schema.arguments.push_back(std::move(argument));
  const std::string printed = to_string(schema);
  const Schema again = parse_schema(printed);
  require(again == schema, "reading the literal gives the value");
  require(to_string(again) == printed, "the print of that is the same, too");
  return true;
}

}  // namespace opyard::fuzz
