// test_cast.cpp: protects the C++ types that values are read as and made of.
// Suspect opyard/value/cast.h.
#include "opyard/value/cast.h"

#include <gtest/gtest.h>

#include <map>
#include <unordered_map>

#include "../one_of_each.h"
#include "../thrown_by.h"
#include "opyard/value/dict.h"
#include "opyard/value/list.h"

#define COMMA ,  // in the arguments of macros

namespace opyard::test_cast {
namespace {

// A C++ value goes into a value that equals `boxed`, and comes out as it was.
template <typename T>
void round_trip(const T& object, const Value& boxed) {
  const Value value = Value::of(object);
  EXPECT_EQ(value, boxed) << to_string(value) << " is not " << to_string(boxed);
  EXPECT_TRUE(value.to<T>() == object) << to_string(boxed);
}

TEST(Cast, D3_PlainTypes) {
  round_trip(true, Value(true));
  round_trip(std::int64_t{-3}, Value(-3));
  round_trip(2.5, Value(2.5));
  round_trip(std::complex<double>(1, 2), Value(std::complex<double>(1, 2)));
  round_trip(std::string("text"), Value("text"));
  round_trip(std::string_view("text"), Value("text"));
  round_trip(Device{Backend::CUDA, 1}, Value(Device{Backend::CUDA, 1}));
  round_trip(Stream{Device{}, 2}, Value(Stream{Device{}, 2}));
  round_trip(DType::Int64, Value(std::int64_t(DType::Int64)));
  round_trip(Layout::Sparse, Value(1));
  round_trip(MemoryFormat::ChannelsLast, Value(2));
  round_trip(Value("any"), Value("any"));
  EXPECT_TRUE(Value::of("a literal").is_string());
  EXPECT_TRUE(Value::of(3).is_int());
  EXPECT_EQ(Value(2.5).to<Scalar>().to_double(), 2.5);
  EXPECT_EQ(Value::of(Scalar(3)), Value(3));
}

TEST(Cast, D3_CountedPointers) {
  counter_type();
  const auto storage = Storage::allocate(4, Device{});
  round_trip(storage, Value(storage));
  const CountedPtr<Generator> generator = make_counted<CountingGenerator>();
  round_trip(generator, Value(generator));
  const auto capsule = CapsuleObject::adopt(nullptr, "test", nullptr, nullptr);
  round_trip(capsule, Value(capsule));
  const auto counter = make_counted<Counter>();
  round_trip(counter, Value(counter));
  EXPECT_EQ(storage->owner_count(), 1u) << "nothing is left behind";
}

TEST(Cast, D3_Optionals) {
  round_trip(std::optional<std::int64_t>(3), Value(3));
  round_trip(std::optional<std::int64_t>(), Value());
  EXPECT_EQ(Value(3).to_optional<std::int64_t>(), 3);
  EXPECT_EQ(Value().to_optional<std::int64_t>(), std::nullopt);
  EXPECT_THROWN(Value("x").to_optional<std::int64_t>(), BadArgument, "expected Int but got String");
}

TEST(Cast, D3_Sequences) {
  const Value numbers = Value::list({Value(1), Value(2)});
  round_trip(std::vector<std::int64_t>{1, 2}, numbers);
  round_trip(std::array<std::int64_t, 2>{1, 2}, numbers);
  round_trip(std::vector<bool>{true, false}, Value::list({Value(true), Value(false)}));
  round_trip(std::vector<std::optional<double>>{.5, std::nullopt},
             Value::list({Value(.5), Value()}));
  round_trip(std::vector<std::vector<std::string>>{{"a"}, {}},
             Value::list({Value::list({Value("a")}), Value::list({})}));
  round_trip(std::pair<std::string, double>("a", 1), Value::tuple({Value("a"), Value(1.0)}));
  round_trip(std::tuple<std::int64_t, bool, std::string>(1, true, "a"),
             Value::tuple({Value(1), Value(true), Value("a")}));
}

TEST(Cast, D3_Maps) {
  using Map = std::map<std::string, std::int64_t>;
  const Value dict = Value::dict({{Value("a"), Value(1)}, {Value("b"), Value(2)}});
  round_trip(Map{{"a", 1}, {"b", 2}}, dict);
  round_trip(std::unordered_map<std::int64_t, bool>{{3, true}},
             Value::dict({{Value(3), Value(true)}}));
  EXPECT_THROWN(dict.to<std::unordered_map<std::int64_t COMMA std::int64_t>>(), BadArgument,
                "expected Int but got String");
  EXPECT_THROWN(Value(1).to<Map>(), BadArgument, "expected GenericDict but got Int");
}

TEST(Cast, D3_WrongKindsAndLengthsAreRefused) {
  const Value three = Value::list({Value(1), Value(2), Value(3)});
  EXPECT_THROWN(Value(1).to<std::vector<std::int64_t>>(), BadArgument,
                "expected GenericList but got Int");
  EXPECT_THROWN(three.to<std::vector<double>>(), BadArgument, "expected Double but got Int");
  EXPECT_THROWN(three.to<std::array<std::int64_t COMMA 2>>(), BadArgument,
                "expected a GenericList of 2 elements but got one of 3");
  EXPECT_THROWN(three.to<std::pair<std::int64_t COMMA std::int64_t>>(), BadArgument,
                "expected Tuple but got GenericList");
  EXPECT_THROWN(Value::tuple({Value(1)}).to<std::pair<std::int64_t COMMA std::int64_t>>(),
                BadArgument, "expected a Tuple of 2 elements but got one of 1");
  EXPECT_THROWN(Value::tuple({Value(1)}).to<std::tuple<>>(), BadArgument,
                "expected a Tuple of 0 elements but got one of 1");
  EXPECT_THROWN(Value().to<Tensor>(), BadArgument, "expected Tensor but got None");
  EXPECT_EQ(thrown_by([] { Value(99).to<DType>(); }).kind, ErrorKind::BadValue);
}

TEST(Cast, D3_Handles) {
  const List<std::int64_t> list{1, 2};
  EXPECT_TRUE(Value::of(list).to<List<std::int64_t>>().identical(list));
  const Dict<std::string, double> dict{{"a", .5}};
  EXPECT_TRUE((Value::of(dict).to<Dict<std::string, double>>().identical(dict)));
}

}  // namespace
}  // namespace opyard::test_cast
