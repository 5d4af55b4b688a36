// test_types_kinds.cpp: protects the C++ types of the rarer kinds on their way through the stack, and
// which of them add keys to a call. Suspect opyard/detail/registry/types.h.
#include <gtest/gtest.h>

#include "../one_of_each.h"
#include "../round_trip.h"
#include "../thrown_by.h"
#include "opyard/detail/registry/types.h"
#include "opyard/registry/variant.h"

namespace opyard::test_types_kinds {
namespace {

using K = DispatchKey;

Value ints(std::initializer_list<std::int64_t> items) {
  return Value::list(std::vector<Value>(items.begin(), items.end()));
}

TEST(Types, D10_ComplexNumbersAndStreams) {
  const std::complex<double> z(1, -2);
  round_trip<std::complex<double>, std::complex<double>>("complex", z, Value(z));
  round_trip<std::optional<std::complex<double>>, std::optional<std::complex<double>>>("complex?",
                                                                                       z, Value(z));
  round_trip<const Scalar&, Scalar>("Scalar", Scalar(z), Value(z));
  const Stream stream{Device{Backend::CUDA, 1}, 3};
  round_trip<Stream, Stream>("Stream", stream, Value(stream));
}

TEST(Types, D10_CountedPointers) {
  counter_type();
  const auto storage = Storage::allocate(4, Device{});
  round_trip<const CountedPtr<Storage>&, CountedPtr<Storage>>("Storage", storage, Value(storage));
  const CountedPtr<Generator> generator = make_counted<CountingGenerator>();
  round_trip<const CountedPtr<Generator>&, CountedPtr<Generator>>("Generator", generator,
                                                                  Value(generator));
  round_trip<std::optional<CountedPtr<Generator>>, std::optional<CountedPtr<Generator>>>(
      "Generator?", generator, Value(generator));
  round_trip<std::optional<CountedPtr<Generator>>, std::optional<CountedPtr<Generator>>>(
      "Generator?", std::nullopt, Value());
  const auto capsule = CapsuleObject::adopt(nullptr, "test", nullptr, nullptr);
  round_trip<CountedPtr<CapsuleObject>, CountedPtr<CapsuleObject>>("Capsule", capsule,
                                                                   Value(capsule));
  const auto future = make_counted<FutureObject>();
  round_trip<const CountedPtr<FutureObject>&, CountedPtr<FutureObject>>("Future(Any)", future,
                                                                        Value(future));
  const auto counter = make_counted<Counter>();
  round_trip<const CountedPtr<Counter>&, CountedPtr<Counter>>("test.Counter", counter,
                                                              Value(counter));
  round_trip<std::vector<CountedPtr<Counter>>, std::vector<CountedPtr<Counter>>>(
      "test.Counter[]", {counter}, Value::list({Value(counter)}));
  seen.clear();
  EXPECT_EQ(counter->owner_count(), 1u) << "nothing is left behind";
}

TEST(Types, D10_Enums) {
  color_type();
  round_trip<Color, Color>("test.Color", Color::Blue, Value::of(Color::Blue));
  round_trip<std::optional<Color>, std::optional<Color>>("test.Color?", std::nullopt, Value());
  const EnumValue red = require_member(color_type(), "Red");
  round_trip<EnumValue, EnumValue>("AnyEnumType", red, Value(red));
}

TEST(Types, D10_ArraysAndSpans) {
  using Three = std::array<bool, 3>;
  round_trip<const Three&, Three>("bool[3]", {true, false, true},
                                  Value::list({Value(true), Value(false), Value(true)}));
  using Bools = std::vector<bool>;
  round_trip<const Bools&, Bools>("bool[]", {true, false},
                                  Value::list({Value(true), Value(false)}));
  using Nested = std::vector<std::vector<std::int64_t>>;
  round_trip<const Nested&, Nested>("int[][]", {{1}, {2, 3}},
                                    Value::list({ints({1}), ints({2, 3})}));

  const Registration op = define("t::spans(float[] a, Tensor[] b, str[]? c) -> float");
  const Registration kernel =
      implement("t::spans", K::CPU,
                Kernel::from([](std::span<const double> a, std::span<const Tensor> b,
                                std::optional<std::span<const std::string>> c) {
                  return a[0] + double(b.size()) + (c ? double(c->front().size()) : 0);
                }));
  const Registration boxes =
      implement("t::spans", K::Meta, Kernel::boxed([](const Operator&, DispatchKeySet, Stack& s) {
                  seen = {s.peek(2), s.peek(1), s.peek(0)};
                  s.drop(3);
                  s.push(0.5);
                }));
  const auto spans = registry()
                         .require("t::spans")
                         .typed<double(std::span<const double>, std::span<const Tensor>,
                                       std::optional<std::span<const std::string>>)>();
  const double a[] = {10};
  const Tensor cpu[] = {tensor_with({K::CPU}), tensor_with({K::CPU})};
  const Tensor meta[] = {tensor_with({K::Meta})};
  const std::string c[] = {"abc"};
  EXPECT_EQ(spans(a, cpu, std::span<const std::string>(c)), 15) << "the tensors' keys were found";
  EXPECT_EQ(spans(a, cpu, std::nullopt), 12);
  EXPECT_EQ(spans(a, meta, std::span<const std::string>(c)), 0.5);
  EXPECT_EQ(to_string(Value::list(seen)), "[[10.], [float32[1]], [abc]]");
  seen.clear();
}

TEST(Types, D10_AnArrayOfAnotherLengthIsRefused) {
  const Registration op = define("t::pair(int[2] a) -> int");
  const Registration kernel =
      implement("t::pair", K::CompositeExplicitAutograd,
                Kernel::from([](const std::array<std::int64_t, 2>& a) { return a[0] + a[1]; }));
  const auto call = [](Value argument) {
    Stack stack;
    stack.push(std::move(argument));
    registry().require("t::pair").call_boxed(stack);
    return stack.pop().to_int();
  };
  EXPECT_EQ(call(ints({3, 4})), 7);
  EXPECT_THROWN(call(ints({3})), BadArgument,
                "expected a GenericList of 2 elements but got one of 1");
}

TEST(Types, D10_TuplesAsArguments) {
  using Pair = std::tuple<std::int64_t, std::string>;
  const Registration op = define("t::tuple((int, str) a, Tensor last) -> str");
  const Registration kernel =
      implement("t::tuple", K::CPU, Kernel::from([](const Pair& a, const Tensor&) {
                  return std::get<1>(a) + std::to_string(std::get<0>(a));
                }));
  const Registration boxes =
      implement("t::tuple", K::Meta, Kernel::boxed([](const Operator&, DispatchKeySet, Stack& s) {
                  seen = {s.peek(1)};
                  s.drop(2);
                  s.push("boxed");
                }));
  const auto call = registry().require("t::tuple").typed<std::string(const Pair&, const Tensor&)>();
  EXPECT_EQ(call({3, "x"}, tensor_with({K::CPU})), "x3");
  EXPECT_EQ(call({3, "x"}, tensor_with({K::Meta})), "boxed");
  EXPECT_EQ(seen[0], Value::tuple({Value(3), Value("x")}));
}

TEST(Types, C28_AVariantIsAUnion) {
  using IntOrText = std::variant<std::int64_t, std::string>;
  round_trip<const IntOrText&, IntOrText>("Union(int, str)", IntOrText(std::int64_t{3}), Value(3));
  round_trip<IntOrText, IntOrText>("Union(int, str)", IntOrText("three"), Value("three"));
  using Rich = std::variant<Tensor, std::vector<std::int64_t>, std::optional<double>>;
  const Tensor x = tensor_with({});
  round_trip<const Rich&, Rich>("Union(Tensor, int[], float?)", Rich(x), Value(x));
  round_trip<const Rich&, Rich>("Union(Tensor, int[], float?)", Rich(std::vector{1L, 2L}),
                                ints({1, 2}));
  round_trip<std::vector<IntOrText>, std::vector<IntOrText>>(
      "Union(int, str)[]", {IntOrText(std::int64_t{1}), IntOrText("a")},
      Value::list({Value(1), Value("a")}));
  const List<IntOrText> list{IntOrText("a")};
  round_trip<const List<IntOrText>&, List<IntOrText>>("Union(int, str)[]", list, list.value());
  EXPECT_THROWN(Value(2.5).to<IntOrText>(), BadArgument, "expected Union(int, str) but got Double");
}

TEST(Types, C28_ContainersOfEveryKindAreArgumentTypes) {
  using Ints = std::vector<std::int64_t>;
  round_trip<const Ints&, Ints>("int[]", {1, 2}, ints({1, 2}));
  round_trip<const List<double>&, List<double>>("float[]", List<double>{.5},
                                                Value::list({Value(.5)}));
  const Dict<std::string, Ints> dict{{"a", Ints{1}}};
  round_trip<const Dict<std::string, Ints>&, Dict<std::string, Ints>>("Dict(str, int[])", dict,
                                                                      dict.value());
  round_trip<std::optional<Ints>, std::optional<Ints>>("int[]?", Ints{1}, ints({1}));
  using Pair = std::tuple<std::int64_t, Ints>;
  const Registration op = define("t::shape((int, int[]) pair, int[] shape) -> int[]");
  const Registration kernel = implement("t::shape", K::CompositeExplicitAutograd,
                                        Kernel::from([](const Pair& pair, IntSpan shape) {
                                          Ints all(shape.begin(), shape.end());
                                          all.push_back(std::get<0>(pair));
                                          for (const std::int64_t size : std::get<1>(pair))
                                            all.push_back(size);
                                          return all;
                                        }));
  Stack stack;
  stack.push(Value::tuple({Value(3), ints({4})}));
  stack.push(ints({1, 2}));
  registry().require("t::shape").call_boxed(stack);
  EXPECT_EQ(stack.pop(), ints({1, 2, 3, 4}));
}

TEST(Types, D10_AListOrDictIsTheCallersOwn) {
  using Ints = List<std::int64_t>;
  using Counts = Dict<std::string, std::int64_t>;
  const Ints list{1, 2};
  round_trip<const Ints&, Ints>("int[]", list, list.value());
  const Counts dict{{"a", 1}};
  round_trip<Counts, Counts>("Dict(str, int)", dict, dict.value());
  round_trip<std::optional<Counts>, std::optional<Counts>>("Dict(str, int)?", std::nullopt,
                                                           Value());
  round_trip<std::vector<Counts>, std::vector<Counts>>("Dict(str, int)[]", {dict},
                                                       Value::list({dict.value()}));

  const Registration op = define("t::add_to(int[](a!) a, Dict(str, int)(b!) b) -> ()");
  const Registration kernel = implement("t::add_to", K::CompositeExplicitAutograd,
                                        Kernel::from([](const Ints& a, const Counts& b) {
                                          a.push_back(3);
                                          b.insert_or_assign("b", 4);
                                        }));
  registry().require("t::add_to").typed<void(const Ints&, const Counts&)>()(list, dict);
  EXPECT_EQ(to_string(list.value()), "[1, 2, 3]");
  EXPECT_EQ(to_string(dict.value()), "{a: 1, b: 4}");
  Stack stack;
  stack.push(list.value());
  stack.push(dict.value());
  registry().require("t::add_to").call_boxed(stack);
  EXPECT_EQ(list.size(), 4u);
}

TEST(Types, D10_AnUnregisteredClassOrEnumIsRefusedAtRegistration) {
  struct Nobody : Object {};
  enum class Nothing { None };
  const Registration op = define("t::nobody(AnyClassType a) -> ()");
  const Thrown by_class = thrown_by(
      [] { implement("t::nobody", K::CPU, Kernel::from([](const CountedPtr<Nobody>&) {})); });
  EXPECT_EQ(by_class.kind, ErrorKind::BadRegistration);
  EXPECT_NE(by_class.text.find("is not registered; call register_class"), std::string::npos);
  EXPECT_EQ(thrown_by([] { implement("t::nobody", K::CPU, Kernel::from([](Nothing) {})); }).kind,
            ErrorKind::BadRegistration);
}

TEST(Types, D13_ArgumentsOfTheNewKindsAreCheckedByNameAndPosition) {
  counter_type();
  const Registration op =
      define("t::checked(complex z, Dict(str, int) d, test.Counter c, Generator? g) -> ()");
  const Registration kernel = implement(
      "t::checked", K::CompositeExplicitAutograd,
      Kernel::boxed([](const Operator&, DispatchKeySet, Stack& stack) { stack.drop(4); }));
  const Value good[] = {Value(std::complex<double>(1)), Value::dict({{"a", 1}}),
                        Value(make_counted<Counter>()), Value()};
  const auto call_with = [&](std::size_t position, Value value) {
    Stack stack;
    for (std::size_t i = 0; i < 4; ++i) stack.push(i == position ? value : good[i]);
    registry().require("t::checked").call_boxed(stack);
  };
  EXPECT_NO_THROW(call_with(4, Value()));
  EXPECT_NO_THROW(call_with(3, Value(make_counted<CountingGenerator>())));
  const std::string declaration =
      "\nDeclaration: t::checked(complex z, Dict(str, int) d, test.Counter c, Generator? g) -> ()";
  EXPECT_THROWN(call_with(0, Value(1.5)), BadArgument,
                "t::checked: argument 'z' at position 0 is Double (1.5), but the schema accepts "
                "complex." +
                    declaration);
  EXPECT_THROWN(call_with(1, Value::dict({{"a", 1.5}})), BadArgument,
                "t::checked: argument 'd' at position 1 is GenericDict ({a: 1.5}), but the schema "
                "accepts Dict(str, int)." +
                    declaration);
  EXPECT_THROWN(call_with(2, some_capsule()), BadArgument,
                "t::checked: argument 'c' at position 2 is Capsule (<capsule test.content>), but "
                "the schema accepts test.Counter." +
                    declaration);
  EXPECT_THROWN(call_with(3, Value(1)), BadArgument,
                "t::checked: argument 'g' at position 3 is Int (1), but the schema accepts "
                "Generator?." +
                    declaration);
}

}  // namespace
}  // namespace opyard::test_types_kinds
