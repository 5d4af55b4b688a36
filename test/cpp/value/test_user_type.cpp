// test_user_type.cpp: protects the names of classes and enums of users, and the objects behind them.
// Suspect dispatcher/src/value/user_type.cpp.
#include "opyard/value/user_type.h"

#include <gtest/gtest.h>

#include "../one_of_each.h"
#include "../thrown_by.h"
#include "opyard/value/cast.h"

namespace opyard::test_user_type {
namespace {

struct Other : Object {};
struct Unregistered : Object {};
struct Derived : Counter {};
enum class Shade { Dark, Light };

TEST(UserType, D1_AClassIsFoundByNameAndByCppType) {
  const UserType& type = counter_type();
  EXPECT_EQ(type.name(), "test.Counter");
  EXPECT_FALSE(type.is_enum());
  EXPECT_EQ(find_user_type("test.Counter"), &type);
  EXPECT_EQ(&user_type_of<Counter>(), &type);
  EXPECT_EQ(&make_counted<Counter>()->type(), &type);
  EXPECT_EQ(find_user_type("test.Nothing"), nullptr);
}

TEST(UserType, D1_AnEnumHasMembersInTheirOrder) {
  const UserType& type = color_type();
  ASSERT_TRUE(type.is_enum());
  EXPECT_EQ(type.members()[2], (EnumMember{"Blue", -3}));
  EXPECT_EQ(type.find_member("Green"), 1u);
  EXPECT_EQ(type.find_number(-3), 2u);
  EXPECT_FALSE(type.find_member("Grey"));
  EXPECT_FALSE(type.find_number(0));
  EXPECT_EQ(require_number(type, 1).name(), "Red");
  EXPECT_THROWN(require_member(type, "Grey"), BadValue,
                "test.Color has no member 'Grey'; it has Red (1), Green (2), Blue (-3)");
  EXPECT_THROWN(require_number(type, 9), BadValue,
                "test.Color has no member with the number 9; it has Red (1), Green (2), Blue (-3)");
}

TEST(UserType, D1_AnEnumNeedsNoCppType) {
  const UserType& type = register_enum("test.Size", {{"Small", 0}, {"Large", 1}});
  EXPECT_EQ(find_user_type("test.Size"), &type);
  EXPECT_EQ(to_string(Value(require_member(type, "Large"))), "test.Size.Large");
}

TEST(UserType, D1_TheSameRegistrationTwiceIsOne) {
  EXPECT_EQ(&register_class<Counter>("test.Counter"), &counter_type());
  EXPECT_EQ(&color_type(), &color_type());
}

TEST(UserType, D1_ANameOrTypeThatIsTakenIsRefused) {
  counter_type();
  color_type();
  EXPECT_THROWN(
      register_class<Other>("test.Counter"), BadRegistration,
      "the name test.Counter already means the C++ class opyard::Counter; choose "
      "another name for the C++ class opyard::test_user_type::(anonymous namespace)::Other");
  EXPECT_THROWN(register_class<Counter>("test.Counter2"), BadRegistration,
                "the C++ class opyard::Counter is registered as test.Counter already and cannot "
                "be test.Counter2 as well");
  EXPECT_THROWN(register_enum<Color>("test.Color", {{"Red", Color::Red}}), BadRegistration,
                "the name test.Color already means the C++ enum opyard::Color with other members; "
                "choose another name for the C++ enum opyard::Color");
  EXPECT_THROWN(register_enum("test.Color", {{"Red", 1}}), BadRegistration,
                "the name test.Color already means the C++ enum opyard::Color; choose another "
                "name for an enum without a C++ type");
  EXPECT_EQ(find_user_type("test.Counter2"), nullptr);
}

TEST(UserType, D1_ANameIsDotted) {
  for (const char* name : {"", "Counter", ".Counter", "demo.", "demo..Counter", "demo.1st",
                           "demo.Cou nter", "demo::Counter"}) {
    EXPECT_THROWN(register_class<Other>(name), BadRegistration,
                  std::string("'") + name +
                      "' is no name for a class or enum; write a namespace, a point and a name, "
                      "such as demo.Counter");
  }
}

TEST(UserType, D1_MembersOfAnEnumAreDistinct) {
  EXPECT_THROWN(register_enum("test.None", std::vector<EnumMember>()), BadRegistration,
                "the enum test.None has no members");
  EXPECT_THROWN(register_enum("test.Twice", {{"A", 1}, {"B", 1}}), BadRegistration,
                "the enum test.Twice has the members A = 1 and B = 1; names and numbers are each "
                "used once");
  EXPECT_THROWN(register_enum("test.Twice", {{"A", 1}, {"A", 2}}), BadRegistration,
                "the enum test.Twice has the members A = 1 and A = 2; names and numbers are each "
                "used once");
}

TEST(UserType, D1_AnObjectOfAnUnregisteredClassIsNoValue) {
  EXPECT_THROWN(Value(make_counted<Unregistered>()), BadRegistration,
                "the C++ type opyard::test_user_type::(anonymous namespace)::Unregistered is not "
                "registered; call "
                "register_class or register_enum with a name such as demo.Counter before it is "
                "used");
  EXPECT_EQ(thrown_by([] { Value(make_counted<Derived>()); }).kind, ErrorKind::BadRegistration)
      << "a base class that is registered does not count";
}

TEST(UserType, D3_AnObjectComesOutAsItsOwnClassOnly) {
  counter_type();
  register_class<Other>("test.Other");
  const Value value(make_counted<Counter>(5));
  EXPECT_EQ(value.to<CountedPtr<Counter>>()->count, 5);
  EXPECT_THROWN(value.to<CountedPtr<Other>>(), BadArgument,
                "expected an object of class test.Other but got one of test.Counter");
  EXPECT_THROWN(Value(1).to<CountedPtr<Other>>(), BadArgument, "expected Object but got Int");
}

TEST(UserType, D3_AnEnumComesOutAsItsOwnTypeOnly) {
  color_type();
  register_enum<Shade>("test.Shade", {{"Dark", Shade::Dark}, {"Light", Shade::Light}});
  const Value value = Value::of(Color::Blue);
  EXPECT_EQ(value.to<Color>(), Color::Blue);
  EXPECT_EQ(value.to<EnumValue>().name(), "Blue");
  EXPECT_THROWN(value.to<Shade>(), BadArgument,
                "expected a member of test.Shade but got one of test.Color");
  EXPECT_THROWN(Value(1).to<Shade>(), BadArgument, "expected Enum but got Int");
  EXPECT_EQ(thrown_by([] { Value::of(Color(77)); }).kind, ErrorKind::BadValue);
}

}  // namespace
}  // namespace opyard::test_user_type
