// test_type_of.cpp: protects the type that a value is given, and acceptance of values by a type.
// Suspect dispatcher/src/schema/type_of.cpp.
#include "opyard/schema/type_of.h"

#include <gtest/gtest.h>

#include "../one_of_each.h"
#include "../thrown_by.h"
#include "opyard/schema/parse.h"
#include "opyard/value/list.h"

namespace opyard::test_type_of {
namespace {

std::string type_text(const Value& value) { return to_string(*type_of(value)); }

TypePtr parsed(const std::string& type) {
  return parse_schema("t::f(" + type + " x) -> ()").arguments[0].type;
}

TEST(TypeOf, D4_EveryKindHasAType) {
  const char* const types[] = {"NoneType",  "bool",    "int",          "float",
                               "Device",    "Tensor",  "str",          "int[]",
                               "(int)",     "Any",     "Future(Any)",  "Storage",
                               "Generator", "Capsule", "test.Counter", "Dict(str, int)",
                               "complex",   "Stream",  "test.Color",   "SymInt",
                               "SymFloat",  "SymBool"};
  const std::vector<Value> values = one_of_each(FakeA::create());
  ASSERT_EQ(values.size(), std::size(types));
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(type_text(values[i]), types[i]) << name_of(values[i].kind());
    EXPECT_TRUE(accepts(*type_of(values[i]), values[i])) << types[i];
  }
}

TEST(TypeOf, D4_AContainerTakesItsTypeFromItsElements) {
  EXPECT_EQ(type_text(Value::list({})), "Any[]");
  EXPECT_EQ(type_text(Value::list({Value(1), Value()})), "int?[]");
  EXPECT_EQ(type_text(Value::list({Value()})), "NoneType[]");
  EXPECT_EQ(type_text(Value::list({Value(1), Value(2.5)})), "Any[]");
  EXPECT_EQ(type_text(Value::list({Value(1), Value(), Value("a")})), "Any[]");
  EXPECT_EQ(type_text(Value::list({Value::list({Value("a")}), Value::list({Value("b")})})),
            "str[][]");
  EXPECT_EQ(type_text(Value::tuple({})), "Any");
  EXPECT_EQ(type_text(Value::tuple({Value(1), Value::tuple({Value(true), Value(Tensor())})})),
            "(int, (bool, Tensor))");
  EXPECT_EQ(type_text(Value::dict({})), "Dict(Any, Any)");
  EXPECT_EQ(type_text(Value::dict({{Value(1), Value("a")}, {Value(2), Value()}})),
            "Dict(int, str?)");
}

TEST(TypeOf, D4_EndsForContainersInsideThemselves) {
  const List<Value> ring;
  ring.push_back(ring.value());
  EXPECT_EQ(type_text(ring.value()), "Any[]");
  EXPECT_TRUE(accepts(*type_of(ring.value()), ring.value()));
  ring.clear();

  Value deep = Value::list({Value(1)});
  Value shared = Value::tuple({Value(1)});
  for (int i = 0; i < 100'000; ++i) deep = Value::list({std::move(deep)});
  for (int i = 0; i < 200; ++i) shared = Value::tuple({shared, shared});
  EXPECT_TRUE(accepts(*type_of(deep), deep));
  EXPECT_EQ(type_of(shared)->kind(), TypeKind::Tuple);
}

TEST(TypeOf, C4_ARegisteredNameIsATypeOfSchemas) {
  counter_type();
  color_type();
  const TypePtr type = parsed("test.Counter");
  EXPECT_EQ(type->kind(), TypeKind::Class);
  EXPECT_TRUE(equal(*type, *type_of(counter_type())));
  EXPECT_TRUE(equal(*type, *parsed("__torch__.torch.classes.test.Counter")));
  EXPECT_EQ(to_string(parse_schema("t::f(test.Counter? c, test.Color[] d) -> test.Counter")),
            "t::f(test.Counter? c, test.Color[] d) -> test.Counter");
}

TEST(TypeOf, C30_AnUnregisteredNameIsRefused) {
  for (const char* name : {"a.B", "__torch__.torch.classes.a.B"}) {
    const Thrown thrown = thrown_by([&] { parsed(name); });
    EXPECT_EQ(thrown.kind, ErrorKind::BadSchema);
    EXPECT_NE(thrown.text.find("Unknown custom class type a.B. Please ensure it is registered."),
              std::string::npos)
        << thrown.text;
  }
}

TEST(TypeOf, D13_EachTypeAcceptsItsOwnKindAlone) {
  const std::vector<Value> values = one_of_each(FakeA::create());
  const auto accepted_by = [&](const std::string& type) {
    std::string kinds;
    for (const Value& value : values) {
      if (accepts(*parsed(type), value)) kinds += std::string(" ") + name_of(value.kind());
    }
    return kinds;
  };
  EXPECT_EQ(accepted_by("complex"), " ComplexDouble");
  EXPECT_EQ(accepted_by("Scalar"), " Bool Int Double ComplexDouble");
  EXPECT_EQ(accepted_by("Storage"), " Storage");
  EXPECT_EQ(accepted_by("Generator?"), " None Generator");
  EXPECT_EQ(accepted_by("Stream"), " Stream");
  EXPECT_EQ(accepted_by("Capsule"), " Capsule");
  EXPECT_EQ(accepted_by("AnyClassType"), " Object");
  EXPECT_EQ(accepted_by("AnyEnumType"), " Enum");
  EXPECT_EQ(accepted_by("test.Counter"), " Object");
  EXPECT_EQ(accepted_by("test.Color"), " Enum");
  EXPECT_EQ(accepted_by("Dict(str, int)"), " GenericDict");
  EXPECT_EQ(accepted_by("Dict(str, float)"), "");
  EXPECT_EQ(accepted_by("Dict(int, int)"), "");
  EXPECT_EQ(accepted_by("Future(int)"), " Future");
  EXPECT_EQ(accepted_by("Await(int)"), "");
}

}  // namespace
}  // namespace opyard::test_type_of
