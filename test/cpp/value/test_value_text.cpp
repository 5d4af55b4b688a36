// test_value_text.cpp: protects a value's kind, text and equality.
// Suspect dispatcher/src/value/text.cpp and equality.cpp.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <limits>

#include "../one_of_each.h"
#include "../thrown_by.h"
#include "opyard/value/value.h"

namespace opyard::test_value_text {
namespace {

constexpr std::int64_t kTwo[] = {2};

Tensor two_floats() { return Tensor::empty(kTwo); }

TEST(Value, D3_AWrongKindIsNamedWithTheRightOne) {
  const Value number(1);
  EXPECT_THROWN(number.to_tensor(), BadArgument, "expected Tensor but got Int");
  EXPECT_THROWN(number.to_string_view(), BadArgument, "expected String but got Int");
  EXPECT_THROWN(number.to_list(), BadArgument, "expected GenericList but got Int");
  EXPECT_THROWN(number.to_tuple(), BadArgument, "expected Tuple but got Int");
  EXPECT_THROWN(number.to_bool(), BadArgument, "expected Bool but got Int");
  EXPECT_THROWN(number.to_double(), BadArgument, "expected Double but got Int");
  EXPECT_THROWN(number.to_device(), BadArgument, "expected Device but got Int");
  EXPECT_THROWN(number.to_foreign(), BadArgument, "expected PyObject but got Int");
  EXPECT_THROWN(Value().to_int(), BadArgument, "expected Int but got None");
  EXPECT_THROWN(Value::list({}).to_tuple(), BadArgument, "expected Tuple but got GenericList");
}

TEST(Value, D4_PrintsAsAPersonWouldWriteIt) {
  EXPECT_EQ(to_string(Value()), "None");
  EXPECT_EQ(to_string(Value(true)), "True");
  EXPECT_EQ(to_string(Value(false)), "False");
  EXPECT_EQ(to_string(Value(-3)), "-3");
  EXPECT_EQ(to_string(Value(2.0)), "2.");
  EXPECT_EQ(to_string(Value("as is")), "as is");
  EXPECT_EQ(to_string(Value(Device{Backend::CUDA, 1})), "cuda:1");
  EXPECT_EQ(to_string(Value::tuple({Value(1), Value(2.5)})), "(1, 2.5)");
  EXPECT_EQ(to_string(Value::tuple({Value(1)})), "(1,)");
  EXPECT_EQ(to_string(Value::list({Value(1), Value(2)})), "[1, 2]");
  EXPECT_EQ(to_string(Value::list({})), "[]");
  EXPECT_EQ(to_string(Value(two_floats())), "float32[2]");
  int object = 0;
  const Value foreign(make_counted<ForeignObject>(FakeA::create(), &object));
  EXPECT_EQ(to_string(foreign), "<object of A>");
}

TEST(Value, D4_PrintsDictsAndComplexNumbers) {
  using Complex = std::complex<double>;
  EXPECT_EQ(to_string(Value(Complex(1, 2))), "1.+2.j");
  EXPECT_EQ(to_string(Value(Complex(0, -1))), "0.-1.j");
  EXPECT_EQ(to_string(Value(Complex(-0.0, 0.5))), "-0.+0.5j");
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(to_string(Value(Complex(-inf, nan))), "-inf+nanj");
  EXPECT_EQ(to_string(Value::dict({})), "{}");
  EXPECT_EQ(to_string(Value::dict({{Value("b"), Value(1)}, {Value(2), Value::list({Value("x")})}})),
            "{b: 1, 2: [x]}");
}

TEST(Value, D4_PrintsWhatHasNoTextOfItsOwnInBrackets) {
  counter_type();
  EXPECT_EQ(to_string(Value(Storage::allocate(16, Device{}))), "<storage of 16 bytes on cpu>");
  EXPECT_EQ(to_string(Value(make_counted<CountingGenerator>())), "<generator on cpu>");
  EXPECT_EQ(to_string(some_capsule()), "<capsule test.content>");
  EXPECT_EQ(to_string(Value(make_counted<FutureObject>())), "<future, pending>");
  EXPECT_EQ(to_string(Value(make_counted<Counter>())), "<test.Counter object>");
  EXPECT_EQ(to_string(Value(Stream{Device{Backend::CUDA, 1}, 3})), "<stream 3 on cuda:1>");
  EXPECT_EQ(to_string(Value(require_member(color_type(), "Red"))), "test.Color.Red");
}

TEST(Value, D4_ReprQuotesTexts) {
  EXPECT_EQ(repr(Value("a\n\"b\"")), R"("a\n\"b\"")");
  EXPECT_EQ(repr(Value("\x01\x7f\t\\")), R"("\x01\x7f\t\\")");
  EXPECT_EQ(repr(Value::dict({{Value("k"), Value::tuple({Value("v"), Value(1)})}})),
            R"({"k": ("v", 1)})");
  EXPECT_EQ(repr(Value(2.0)), "2.");
}

// Each level holds the one below twice: whole, the text would have 2^60 parts.
TEST(Value, D4_ContainersThatShareTheirElementsHaveALimitedText) {
  const auto list_of = [](const Value& item) { return Value::list({item, item}); };
  const auto tuple_of = [](const Value& item) { return Value::tuple({item, item}); };
  const auto dict_of = [](const Value& item) {
    return Value::dict({{Value(1), item}, {Value(2), item}});
  };
  const auto text_of_deep = [](const auto& grow) {
    Value value(7);
    for (int i = 0; i < 60; ++i) value = grow(value);
    return to_string(value);
  };
  for (const std::string& text :
       {text_of_deep(list_of), text_of_deep(tuple_of), text_of_deep(dict_of)}) {
    EXPECT_LT(text.size(), std::size_t{1} << 24);
    EXPECT_GT(text.size(), std::size_t{1} << 20) << "much of it is shown";
    EXPECT_NE(text.find("..."), std::string::npos);
  }
}

TEST(Value, FloatTextIsShortAndReadsBackAsTheSameNumber) {
  const double numbers[] = {0.0,  -0.0,  1.0,    -2.5,          0.1,
                            1e-5, 1e10,  1e15,   1e16,          1e22,
                            1e23, 1e300, 5e-324, 123456789.125, std::numeric_limits<double>::max()};
  for (const double number : numbers) {
    const std::string text = float_text(number);
    const double back = std::strtod(text.c_str(), nullptr);
    EXPECT_EQ(std::memcmp(&back, &number, sizeof(number)), 0) << text;
    EXPECT_NE(text.find_first_of(".e"), std::string::npos) << text << " reads as an integer";
  }
  EXPECT_EQ(float_text(0.1), "0.1");
  EXPECT_EQ(float_text(1e-5), "1e-05");
  EXPECT_EQ(float_text(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(float_text(-std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(Value, D4_EqualityIsByContentAndIdentityByObject) {
  const Value list = Value::list({Value(1), Value::tuple({Value("a"), Value(2.0)})});
  const Value same = list;
  const Value alike = Value::list({Value(1), Value::tuple({Value("a"), Value(2.0)})});
  EXPECT_TRUE(list == alike);
  EXPECT_FALSE(list.identical(alike));
  EXPECT_TRUE(list.identical(same));
  EXPECT_FALSE(list == Value::list({Value(1), Value::tuple({Value("a"), Value(2.5)})}));
  EXPECT_FALSE(list == Value::list({Value(1)}));
  EXPECT_FALSE(Value::list({}) == Value::tuple({}));
  EXPECT_FALSE(Value(1) == Value(1.0));
  EXPECT_FALSE(Value(1) == Value(true));
  EXPECT_TRUE(Value(0.0) == Value(-0.0));
  EXPECT_FALSE(Value(0.0).identical(Value(-0.0)));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(Value(nan) == Value(nan));
  EXPECT_TRUE(Value(Device{Backend::CPU, 1}).identical(Value(Device{Backend::CPU, 1})));
  EXPECT_FALSE(Value(Device{Backend::CPU, 1}).identical(Value(Device{Backend::CPU, -1})));
  EXPECT_FALSE(Value(Device{Backend::CPU, 1}) == Value(Device{Backend::CUDA, 1}));
}

TEST(Value, TensorsAndForeignObjectsAreEqualOnlyToThemselves) {
  const Tensor tensor = two_floats();
  EXPECT_TRUE(Value(tensor) == Value(tensor));
  EXPECT_TRUE(Value(tensor) == Value::borrow(tensor));
  EXPECT_FALSE(Value(tensor) == Value(two_floats()));
  Interpreter* const a = FakeA::create();
  int object = 0;
  int other = 0;
  const Value first(make_counted<ForeignObject>(a, &object));
  EXPECT_TRUE(first == Value(make_counted<ForeignObject>(a, &object)));
  EXPECT_FALSE(first == Value(make_counted<ForeignObject>(a, &other)));
  EXPECT_FALSE(first == Value(make_counted<ForeignObject>(FakeB::create(), &object)));
}

}  // namespace
}  // namespace opyard::test_value_text
