// test_future_type.cpp: protects Future(T): the values that a future with an element type takes, and where a schema
// lets it through. Suspect dispatcher/src/schema/future_type.cpp.
#include "opyard/schema/future_type.h"

#include <gtest/gtest.h>

#include <thread>

#include "../round_trip.h"
#include "../thrown_by.h"
#include "opyard/detail/registry/types.h"
#include "opyard/schema/parse.h"
#include "opyard/schema/type_of.h"

namespace opyard::test_future_type {
namespace {

TypePtr parsed(const std::string& type) {
  return parse_schema("t::f(" + type + " x) -> ()").arguments[0].type;
}

CountedPtr<FutureObject> future_of(const std::string& type) {
  return make_counted<FutureObject>(future_element(parsed(type)));
}

TEST(FutureType, K5_AFutureKnowsItsElementType) {
  EXPECT_EQ(to_string(*element_type(*future_of("int[]?"))), "int[]?");
  EXPECT_EQ(to_string(*element_type(*make_counted<FutureObject>())), "Any");
  EXPECT_THROWN(future_element(nullptr), BadArgument,
                "a null pointer is no type of a future's value");
}

TEST(FutureType, K5_ItTakesValuesOfItsTypeOnly) {
  const auto future = future_of("int[]");
  EXPECT_THROWN(future->set_value(Value("text")), BadArgument,
                "a Future(int[]) cannot be completed with String");
  EXPECT_FALSE(future->completed());
  future->set_value(Value::list({Value(1)}));

  const auto start = make_counted<FutureObject>();
  const auto next = start->then([](FutureObject&) { return Value(2.5); },
                                future_element(base_type(TypeKind::Int)));
  start->set_value();
  EXPECT_THROWN(next->value(), BadArgument, "a Future(int) cannot be completed with Double");
}

TEST(FutureType, K5_WhichFuturesASchemaAccepts) {
  const Value ints(future_of("int"));
  EXPECT_TRUE(accepts(*parsed("Future(int)"), ints));
  EXPECT_TRUE(accepts(*parsed("Future(int?)"), ints));
  EXPECT_TRUE(accepts(*parsed("Future(Scalar)"), ints));
  EXPECT_TRUE(accepts(*parsed("Future(Any)"), ints));
  EXPECT_TRUE(accepts(*parsed("Future(t)"), ints));
  EXPECT_FALSE(accepts(*parsed("Future(str)"), ints));
  EXPECT_FALSE(accepts(*parsed("Future(int)"), Value(1)));
  EXPECT_FALSE(accepts(*parsed("Future(Any)"), Value()));
  EXPECT_TRUE(accepts(*parsed("Future(Any)?"), Value()));

  const auto untyped = make_counted<FutureObject>();
  EXPECT_TRUE(accepts(*parsed("Future(int)"), Value(untyped)));
  EXPECT_TRUE(accepts(*parsed("Future(str)"), Value(untyped)));
  untyped->set_value(1);
  EXPECT_TRUE(accepts(*parsed("Future(int)"), Value(untyped)));
  EXPECT_FALSE(accepts(*parsed("Future(str)"), Value(untyped)));
}

TEST(FutureType, K5_TheTypeOfAFuture) {
  EXPECT_EQ(to_string(*type_of(Value(future_of("Tensor")))), "Future(Tensor)");
  const auto untyped = make_counted<FutureObject>();
  EXPECT_EQ(to_string(*type_of(Value(untyped))), "Future(Any)");
  untyped->set_value(Value::list({Value(1)}));
  EXPECT_EQ(to_string(*type_of(Value(untyped))), "Future(int[])");
}

TEST(FutureType, D10_KernelsTakeAndGiveFuturesThemselves) {
  const Future<std::int64_t> future;
  round_trip<const Future<std::int64_t>&, Future<std::int64_t>>("Future(int)", future, future);
  round_trip<std::optional<Future<Tensor>>, std::optional<Future<Tensor>>>("Future(Tensor)?",
                                                                           std::nullopt, Value());
  round_trip<std::vector<Future<std::int64_t>>, std::vector<Future<std::int64_t>>>(
      "Future(int)[]", {future}, Value::list({future}));
  seen.clear();
  EXPECT_EQ(future.object()->owner_count(), 1u) << "nothing is left behind";
}

TEST(FutureType, K5_AKernelMayAnswerLater) {
  const Registration op = define("t::later(int n) -> Future(int)");
  Future<std::int64_t> promised;
  const Registration kernel = implement("t::later", DispatchKey::CompositeExplicitAutograd,
                                        Kernel::from([&](std::int64_t) { return promised; }));
  const auto answer = registry().require("t::later").typed<Future<std::int64_t>(std::int64_t)>();
  const Future<std::int64_t> got = answer.call(3);
  EXPECT_TRUE(got.identical(promised));
  std::thread producer([&] { promised.set_value(9); });
  EXPECT_EQ(got.wait(), 9);
  producer.join();
}

}  // namespace
}  // namespace opyard::test_future_type
