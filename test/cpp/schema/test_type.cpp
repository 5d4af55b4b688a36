// test_type.cpp: protects the values that a type accepts, and equality of types.
// Suspect dispatcher/src/schema/accepts.cpp and type.cpp.
#include "opyard/schema/type.h"

#include <gtest/gtest.h>

#include "../fake_interpreter.h"
#include "../thrown_by.h"
#include "opyard/schema/parse.h"

namespace opyard::test_type {
namespace {

constexpr std::int64_t kTwo[] = {2};

TypePtr type_of(const std::string& text) {
  return parse_schema("f(" + text + " x) -> ()").arguments.at(0).type;
}

TEST(Type, BaseTypesExistOnce) {
  EXPECT_EQ(base_type(TypeKind::Int).get(), base_type(TypeKind::Int).get());
  EXPECT_EQ(type_of("int").get(), base_type(TypeKind::Int).get());
  EXPECT_EQ(type_of("number").get(), base_type(TypeKind::Scalar).get());
}

TEST(Type, MakersRefuseWhatIsNoSuchType) {
  EXPECT_THROWN(base_type(TypeKind::List), Internal, "base_type() was asked for a compound type");
  EXPECT_THROWN(named_type(TypeKind::Int, "x"), Internal,
                "named_type() makes type variables and classes only");
  const TypePtr number = base_type(TypeKind::Int);
  const char* const message = "compound_type() was called with a wrong kind or number of elements";
  EXPECT_THROWN(compound_type(TypeKind::List, {number}), Internal, message);
  EXPECT_THROWN(compound_type(TypeKind::Tuple, {}), Internal, message);
  EXPECT_THROWN(compound_type(TypeKind::Dict, {number}), Internal, message);
  EXPECT_THROWN(compound_type(TypeKind::Union, {number, number}), Internal, message);
}

TEST(Type, AnOptionalOfAnOptionalIsThatOptional) {
  const TypePtr once = optional_of(base_type(TypeKind::Int));
  EXPECT_EQ(optional_of(once).get(), once.get());
}

TEST(Type, EqualityIsByStructure) {
  const char* const types[] = {"int",
                               "int[]",
                               "int[2]",
                               "int[3]",
                               "int?",
                               "int[]?",
                               "int?[]",
                               "(int)",
                               "(int, int)",
                               "(int, str)",
                               "t",
                               "t1",
                               "Future(t)",
                               "RRef(t)",
                               "Tensor",
                               "SymInt",
                               "SymInt[2]",
                               "Scalar",
                               "Dict(int, str)",
                               "Dict(str, int)",
                               "Union(int, str)",
                               "Union(int, float)"};
  for (const char* a : types) {
    for (const char* b : types) {
      EXPECT_EQ(equal(*type_of(a), *type_of(b)), std::string_view(a) == b) << a << " and " << b;
    }
  }
}

TEST(Type, UnionsPrintAlikeInWhateverOrderTheyAreWritten) {
  const TypePtr a = type_of("Union(str[], int, str[2], Tensor, int)");
  const TypePtr b = type_of("Union(Tensor, Union(str[2], str[]), int)");
  EXPECT_TRUE(equal(*a, *b));
  EXPECT_EQ(to_string(*a), "Union(Tensor, int, str[], str[2])");
  EXPECT_EQ(to_string(*b), to_string(*a));
}

TEST(Type, ThoseWithTensorsInReachCarryKeys) {
  for (const char* text :
       {"Tensor", "Tensor?", "Tensor[]", "Tensor?[]", "Tensor[]?", "Tensor?[]?", "Tensor[2]"}) {
    EXPECT_TRUE(carries_keys(*type_of(text))) << text;
  }
  for (const char* text : {"int", "Scalar", "(Tensor, Tensor)", "Tensor[][]", "Dict(str, Tensor)",
                           "Union(Tensor, int)", "t", "Any"}) {
    EXPECT_FALSE(carries_keys(*type_of(text))) << text;
  }
}

struct NamedValue {
  std::string name;
  Value value;
};

std::vector<NamedValue> all_values() {
  static int object = 0;
  const Tensor tensor = Tensor::empty(kTwo);
  return {
      {"none", Value()},
      {"tensor", Value(tensor)},
      {"undefined", Value(Tensor())},
      {"int", Value(1)},
      {"float", Value(1.0)},
      {"bool", Value(true)},
      {"str", Value("a")},
      {"device", Value(Device{})},
      {"object", Value(make_counted<ForeignObject>(FakeA::create(), &object))},
      {"[]", Value::list({})},
      {"[int]", Value::list({Value(1), Value(2)})},
      {"[int,none]", Value::list({Value(1), Value()})},
      {"[tensor]", Value::list({Value(tensor)})},
      {"[tensor,none]", Value::list({Value(tensor), Value()})},
      {"[[int]]", Value::list({Value::list({Value(1)})})},
      {"(int,str)", Value::tuple({Value(1), Value("a")})},
  };
}

// The names of the values that the type accepts.
std::string accepted_by(const std::string& type) {
  std::string names;
  for (const auto& [name, value] : all_values()) {
    if (accepts(*type_of(type), value)) names += (names.empty() ? "" : " ") + name;
  }
  return names;
}

TEST(Type, AcceptsTheValuesThatAKernelCanTake) {
  EXPECT_EQ(accepted_by("Tensor"), "none tensor undefined");
  EXPECT_EQ(accepted_by("Tensor?"), "none tensor undefined");
  for (const char* text :
       {"int", "SymInt", "ScalarType", "Layout", "MemoryFormat", "QScheme", "DeviceIndex"}) {
    EXPECT_EQ(accepted_by(text), "int") << text;
  }
  EXPECT_EQ(accepted_by("float"), "float");
  EXPECT_EQ(accepted_by("SymFloat"), "float");
  EXPECT_EQ(accepted_by("bool"), "bool");
  EXPECT_EQ(accepted_by("Scalar"), "int float bool");
  EXPECT_EQ(accepted_by("str"), "str");
  EXPECT_EQ(accepted_by("Dimname"), "str");
  EXPECT_EQ(accepted_by("Device"), "device");
  EXPECT_EQ(accepted_by("NoneType"), "none");
  EXPECT_EQ(accepted_by("int?"), "none int");
  EXPECT_EQ(accepted_by("int[]"), "[] [int]");
  EXPECT_EQ(accepted_by("int[3]"), "[] [int]") << "a size hint is for defaults and Python";
  EXPECT_EQ(accepted_by("int?[]"), "[] [int] [int,none]");
  EXPECT_EQ(accepted_by("Tensor[]"), "[] [tensor]");
  EXPECT_EQ(accepted_by("Tensor?[]"), "[] [tensor] [tensor,none]");
  EXPECT_EQ(accepted_by("Tensor[]?"), "none [] [tensor]");
  EXPECT_EQ(accepted_by("int[][]"), "[] [[int]]");
  EXPECT_EQ(accepted_by("(int, str)"), "(int,str)");
  EXPECT_EQ(accepted_by("(int, str, str)"), "");
  EXPECT_EQ(accepted_by("(str, str)"), "");
  EXPECT_EQ(accepted_by("Union(int, str[])"), "int []");
  EXPECT_EQ(accepted_by("complex"), "");
  EXPECT_EQ(accepted_by("Dict(str, int)"), "");
  EXPECT_EQ(accepted_by("Generator?"), "none");
  for (const auto& [name, value] : all_values()) {
    EXPECT_TRUE(accepts(*type_of("Any"), value)) << name;
    EXPECT_TRUE(accepts(*type_of("t"), value)) << name;
  }
}

TEST(Type, ABorrowedTensorIsAccepted) {
  const Tensor tensor = Tensor::empty(kTwo);
  EXPECT_TRUE(accepts(*type_of("Tensor"), Value::borrow(tensor)));
}

TEST(Type, X11_PlainKindsAreThoseThatAreAcceptedWhateverTheValue) {
  const std::vector<Value> values = {Value(),
                                     Value(true),
                                     Value(3),
                                     Value(2.5),
                                     Value("text"),
                                     Value(Device{}),
                                     Value(Tensor()),
                                     Value::list({}),
                                     Value::list({Value(1)}),
                                     Value::tuple({Value(1)})};
  for (const char* text :
       {"Tensor",   "int",       "SymInt",        "float",        "bool",
        "str",      "Scalar",    "Device",        "ScalarType",   "Any",
        "t",        "int?",      "Tensor?",       "Scalar?",      "int[]",
        "Tensor[]", "Tensor?[]", "int[]?",        "(int, float)", "Union(int, str)",
        "NoneType", "Generator", "Dict(str, int)"}) {
    const TypePtr type = type_of(text);
    for (const Value& value : values) {
      const bool plain = (accepted_kinds(*type) >> int(value.kind()) & 1) != 0;
      EXPECT_TRUE(!plain || accepts(*type, value)) << text << " and " << to_string(value);
      const bool by_kind = !value.is_list() && !value.is_tuple() && type->kind() != TypeKind::Union;
      EXPECT_TRUE(!by_kind || plain == accepts(*type, value))
          << text << " and " << to_string(value);
    }
  }
}

}  // namespace
}  // namespace opyard::test_type
