// test_value_kinds.cpp: protects boxing and unboxing of each kind, and the error for another kind.
// Suspect dispatcher/src/value/value.cpp.
#include <gtest/gtest.h>

#include "../failing_allocator.h"
#include "../one_of_each.h"
#include "../thrown_by.h"
#include "opyard/value/cast.h"

namespace opyard::test_value_kinds {
namespace {

TEST(ValueKinds, D1_EachComesOutAsItWentIn) {
  const std::complex<double> z(1.5, -2);
  EXPECT_EQ(Value(z).to_complex(), z);
  const Stream stream{Device{Backend::CUDA, 1}, 7};
  EXPECT_EQ(Value(stream).to_stream(), stream);
  const EnumValue green = require_member(color_type(), "Green");
  EXPECT_EQ(Value(green).to_enum(), green);
  EXPECT_EQ(Value(green).to_enum().number(), 2);

  const auto storage = Storage::allocate(8, Device{});
  EXPECT_EQ(&Value(storage).to_storage(), storage.get());
  const auto generator = make_counted<CountingGenerator>(Device{Backend::CUDA, 0}, 5u);
  Value held(generator);
  EXPECT_EQ(&held.to_generator(), generator.get());
  EXPECT_EQ(held.to_generator().seed(), 5u);
  EXPECT_EQ(held.to_generator().device(), (Device{Backend::CUDA, 0}));
  counter_type();
  const auto counter = make_counted<Counter>();
  EXPECT_EQ(&Value(counter).to_object(), counter.get());
  const auto dict = make_counted<DictObject>();
  EXPECT_EQ(&Value(dict).to_dict(), dict.get());
  const auto future = make_counted<FutureObject>();
  EXPECT_EQ(&Value(future).to_future(), future.get());
}

TEST(ValueKinds, D1_AGeneratorHasTheKeyOfItsBackend) {
  const auto generator = make_counted<CountingGenerator>(Device{Backend::CUDA, 0});
  EXPECT_EQ(generator->keys(), DispatchKeySet{DispatchKey::CUDA});
}

TEST(ValueKinds, D1_ACapsuleGivesItsContentBackOnce) {
  int content = 0;
  int given_back = 0;
  const auto count = [](void* context) { ++*static_cast<int*>(context); };
  {
    const Value value(CapsuleObject::adopt(&content, "test.int", &given_back, count));
    const Value copy = value;
    EXPECT_EQ(copy.to_capsule().pointer, &content);
    EXPECT_EQ(copy.to_capsule().name, "test.int");
    EXPECT_EQ(given_back, 0);
  }
  EXPECT_EQ(given_back, 1);
}

TEST(ValueKinds, D1_ACapsuleThatCannotBeMadeGivesItsContentBack) {
  int given_back = 0;
  const auto count = [](void* context) { ++*static_cast<int*>(context); };
  const FailingAllocator none(0);
  EXPECT_THROW(CapsuleObject::adopt(nullptr, "test.int", &given_back, count), std::bad_alloc);
  EXPECT_EQ(given_back, 1);
}

TEST(ValueKinds, D1_ATagThatIsNoneIsRefused) {
  EXPECT_EQ(require_kind(32), Kind::Tensor);
  EXPECT_EQ(require_kind(46), Kind::Enum);
  EXPECT_EQ(require_kind(38), Kind::Future);
  EXPECT_EQ(require_kind(47), Kind::SymInt);
  EXPECT_THROWN(require_kind(5), BadValue, "5 is no tag of a kind of value");
  EXPECT_THROWN(require_kind(37), BadValue, "37 is no tag of a kind of value");
  EXPECT_THROWN(require_kind(-1), BadValue, "-1 is no tag of a kind of value");
}

TEST(ValueKinds, D1_ANullPointerIsNoValue) {
  const char* const text = "a null pointer is no value; None is opyard::Value()";
  EXPECT_THROWN(Value(CountedPtr<Storage>()), BadArgument, text);
  EXPECT_THROWN(Value(CountedPtr<Generator>()), BadArgument, text);
  EXPECT_THROWN(Value(CountedPtr<CountingGenerator>()), BadArgument, text);
  EXPECT_THROWN(Value(CountedPtr<CapsuleObject>()), BadArgument, text);
  EXPECT_THROWN(Value(CountedPtr<DictObject>()), BadArgument, text);
  EXPECT_THROWN(Value(CountedPtr<FutureObject>()), BadArgument, text);
  EXPECT_THROWN(Value(CountedPtr<Counter>()), BadArgument, text);
  EXPECT_THROWN(Value(EnumValue{}), BadArgument,
                "an enum value without a type or member is no value; require_member() makes one");
}

// What is_<kind>() says for a value, by kind.
bool is_of(const Value& value, Kind kind) {
  switch (kind) {
    case Kind::None:
      return value.is_none();
    case Kind::Bool:
      return value.is_bool();
    case Kind::Int:
      return value.is_int();
    case Kind::Double:
      return value.is_double();
    case Kind::Device:
      return value.is_device();
    case Kind::Tensor:
      return value.is_tensor();
    case Kind::String:
      return value.is_string();
    case Kind::List:
      return value.is_list();
    case Kind::Tuple:
      return value.is_tuple();
    case Kind::PyObject:
      return value.is_foreign();
    case Kind::Future:
      return value.is_future();
    case Kind::Storage:
      return value.is_storage();
    case Kind::Generator:
      return value.is_generator();
    case Kind::Capsule:
      return value.is_capsule();
    case Kind::Object:
      return value.is_object();
    case Kind::Dict:
      return value.is_dict();
    case Kind::Complex:
      return value.is_complex();
    case Kind::Stream:
      return value.is_stream();
    case Kind::Enum:
      return value.is_enum();
    case Kind::SymInt:
      return value.is_sym_int();
    case Kind::SymFloat:
      return value.is_sym_float();
    case Kind::SymBool:
      return value.is_sym_bool();
  }
  return false;
}

// Takes a value out as a kind; raises for a value of another one. None has no way out.
void take_as(const Value& value, Kind kind) {
  switch (kind) {
    case Kind::None:
      return;
    case Kind::Bool:
      return static_cast<void>(value.to_bool());
    case Kind::Int:
      return static_cast<void>(value.to_int());
    case Kind::Double:
      return static_cast<void>(value.to_double());
    case Kind::Device:
      return static_cast<void>(value.to_device());
    case Kind::Tensor:
      return static_cast<void>(value.to_tensor());
    case Kind::String:
      return static_cast<void>(value.to_string_view());
    case Kind::List:
      return static_cast<void>(value.to_list());
    case Kind::Tuple:
      return static_cast<void>(value.to_tuple());
    case Kind::PyObject:
      return static_cast<void>(value.to_foreign());
    case Kind::Future:
      return static_cast<void>(value.to_future());
    case Kind::Storage:
      return static_cast<void>(value.to_storage());
    case Kind::Generator:
      return static_cast<void>(value.to_generator());
    case Kind::Capsule:
      return static_cast<void>(value.to_capsule());
    case Kind::Object:
      return static_cast<void>(value.to_object());
    case Kind::Dict:
      return static_cast<void>(value.to_dict());
    case Kind::Complex:
      return static_cast<void>(value.to_complex());
    case Kind::Stream:
      return static_cast<void>(value.to_stream());
    case Kind::Enum:
      return static_cast<void>(value.to_enum());
    case Kind::SymInt:
      return static_cast<void>(SymNodePtr(value.to_sym_int().node()));
    case Kind::SymFloat:
      return static_cast<void>(SymNodePtr(value.to_sym_float().node()));
    case Kind::SymBool:
      return static_cast<void>(SymNodePtr(value.to_sym_bool().node()));
  }
}

// A plain number is read as a number that may be symbolic.
bool is_plain_form(Kind kind, Kind symbolic) {
  return (kind == Kind::Int && symbolic == Kind::SymInt) ||
         (kind == Kind::Double && symbolic == Kind::SymFloat) ||
         (kind == Kind::Bool && symbolic == Kind::SymBool);
}

TEST(ValueKinds, D3_EveryWrongKindIsNamedWithTheRightOne) {
  const std::vector<Value> values = one_of_each(FakeA::create());
  for (const Value& value : values) {
    for (const Value& other : values) {
      const Kind kind = other.kind();
      EXPECT_EQ(is_of(value, kind), value.kind() == kind) << name_of(value.kind());
      if (kind == Kind::None) continue;
      if (value.kind() == kind || is_plain_form(value.kind(), kind)) {
        EXPECT_NO_THROW(take_as(value, kind)) << name_of(kind);
      } else {
        // What follows is advice, for symbolic numbers.
        const Thrown thrown = thrown_by([&] { take_as(value, kind); });
        EXPECT_EQ(thrown.kind, ErrorKind::BadArgument);
        EXPECT_TRUE(thrown.text.starts_with(std::string("expected ") + name_of(kind) + " but got " +
                                            name_of(value.kind())))
            << thrown.text;
      }
    }
  }
}

TEST(ValueKinds, D4_KindsHaveTheNamesThatPeopleKnow) {
  EXPECT_STREQ(name_of(Kind::List), "GenericList");
  EXPECT_STREQ(name_of(Kind::Dict), "GenericDict");
  EXPECT_STREQ(name_of(Kind::Complex), "ComplexDouble");
  EXPECT_STREQ(name_of(Kind::Object), "Object");
  EXPECT_STREQ(name_of(Kind::PyObject), "PyObject");
}

TEST(ValueKinds, D1_MakingOneLosesNothingWhenMemoryRunsOut) {
  const auto generator = make_counted<CountingGenerator>();
  counter_type();
  color_type();
  fail_every_allocation([&] {
    const Value dict = Value::dict({{Value("key"), Value(std::complex<double>(1, 2))},
                                    {Value("generator"), Value(generator)},
                                    {Value("counter"), Value(make_counted<Counter>())},
                                    {Value("stream"), Value(Stream{})},
                                    {Value("color"), Value(require_member(color_type(), "Red"))}});
    EXPECT_EQ(dict.to_dict().size(), 5u);
  });
  EXPECT_EQ(generator->owner_count(), 1u);
}

}  // namespace
}  // namespace opyard::test_value_kinds
