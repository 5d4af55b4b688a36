// test_types.cpp: protects every C++ type of registry/types.h on its way through the stack (D9).
// Suspect opyard/detail/registry/types.h.
//
// test_types_kinds.cpp goes on with the kinds that are not in every schema.
#include "opyard/detail/registry/types.h"

#include <gtest/gtest.h>

#include "../round_trip.h"
#include "../thrown_by.h"

namespace opyard::test_types {
namespace {

using K = DispatchKey;

Value ints(std::initializer_list<std::int64_t> items) {
  return Value::list(std::vector<Value>(items.begin(), items.end()));
}

TEST(Types, D9_Numbers) {
  round_trip<std::int64_t, std::int64_t>("int", -7, Value(-7));
  round_trip<std::int64_t, std::int64_t>("SymInt", std::int64_t{1} << 62,
                                         Value(std::int64_t{1} << 62));
  round_trip<double, double>("float", 2.5, Value(2.5));
  round_trip<bool, bool>("bool", true, Value(true));
  round_trip<const Scalar&, Scalar>("Scalar", Scalar(3), Value(3));
  round_trip<Scalar, Scalar>("Scalar", Scalar(2.5), Value(2.5));
  round_trip<Scalar, Scalar>("Scalar", Scalar(true), Value(true));
}

TEST(Types, D9_TextAndPlaces) {
  round_trip<std::string_view, std::string>("str", "hello", Value("hello"));
  round_trip<std::string, std::string>("str", "hello", Value("hello"));
  round_trip<const std::string&, std::string>("str", "", Value(""));
  round_trip<Device, Device>("Device", Device{Backend::CUDA, 1}, Value(Device{Backend::CUDA, 1}));
  round_trip<DType, DType>("ScalarType", DType::Int64, Value(std::int64_t(DType::Int64)));
  round_trip<Layout, Layout>("Layout", Layout::Sparse, Value(1));
  round_trip<MemoryFormat, MemoryFormat>("MemoryFormat", MemoryFormat::ChannelsLast, Value(2));
}

TEST(Types, D9_Optionals) {
  round_trip<std::optional<std::int64_t>, std::optional<std::int64_t>>("int?", 4, Value(4));
  round_trip<std::optional<std::int64_t>, std::optional<std::int64_t>>("int?", std::nullopt,
                                                                       Value());
  round_trip<std::optional<double>, std::optional<double>>("float?", .5, Value(.5));
  round_trip<std::optional<std::string_view>, std::optional<std::string>>("str?", "hi",
                                                                          Value("hi"));
  round_trip<std::optional<Scalar>, std::optional<Scalar>>("Scalar?", Scalar(1), Value(1));
  round_trip<std::optional<DType>, std::optional<DType>>("ScalarType?", DType::Bool,
                                                         Value(std::int64_t(DType::Bool)));
  const Tensor x = tensor_with({});
  round_trip<const std::optional<Tensor>&, std::optional<Tensor>>("Tensor?", x, Value(x));
  round_trip<std::optional<Tensor>, std::optional<Tensor>>("Tensor?", std::nullopt, Value());
}

TEST(Types, D9_Lists) {
  using Ints = std::vector<std::int64_t>;
  round_trip<const Ints&, Ints>("int[]", {1, 2}, ints({1, 2}));
  round_trip<Ints, Ints>("int[2]", {1, 2}, ints({1, 2}));
  round_trip<std::vector<double>, std::vector<double>>("float[]", {.5}, Value::list({Value(.5)}));
  round_trip<std::vector<std::string>, std::vector<std::string>>("str[]", {"a", "b"},
                                                                 Value::list({"a", "b"}));
  const Tensor x = tensor_with({});
  round_trip<const std::vector<Tensor>&, std::vector<Tensor>>("Tensor[]", {x, x},
                                                              Value::list({Value(x), Value(x)}));
  round_trip<const std::vector<std::optional<Tensor>>&, std::vector<std::optional<Tensor>>>(
      "Tensor?[]", {x, std::nullopt}, Value::list({Value(x), Value()}));
}

TEST(Types, D9_SpansOfIntegers) {
  const Registration op = define("t::span(int[] a, int[]? b, Tensor last) -> int[]");
  const Registration unboxed = implement(
      "t::span", K::CPU, Kernel::from([](IntSpan a, std::optional<IntSpan> b, const Tensor&) {
        std::vector<std::int64_t> all(a.begin(), a.end());
        if (b) all.insert(all.end(), b->begin(), b->end());
        return all;
      }));
  const Registration boxes = implement("t::span", K::Meta, noting());
  const Operator& span = registry().require("t::span");
  const auto call =
      span.typed<std::vector<std::int64_t>(IntSpan, std::optional<IntSpan>, const Tensor&)>();
  const std::int64_t a[] = {1, 2};
  const std::int64_t b[] = {3, 4, 5, 6, 7, 8};
  const Tensor cpu = tensor_with({K::CPU});
  EXPECT_EQ(call(a, IntSpan(b), cpu), (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(call(a, std::nullopt, tensor_with({K::Meta})), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(seen[0], ints({1, 2}));
  EXPECT_EQ(seen[1], Value());
  call(a, IntSpan(b), tensor_with({K::Meta}));
  EXPECT_EQ(seen[1], ints({3, 4, 5, 6, 7, 8}));
  Stack stack;
  stack.push(ints({1}));
  stack.push(ints({2, 3}));
  stack.push(Value(cpu));
  span.call_boxed(stack);
  EXPECT_EQ(stack.peek(), ints({1, 2, 3})) << "longer than any list that is in place";
}

TEST(Types, D9_Any) {
  const Tensor x = tensor_with({});
  round_trip<const Value&, Value>("Any", Value::tuple({Value(1), Value(x)}),
                                  Value::tuple({Value(1), Value(x)}));
  round_trip<Value, Value>("Any", Value(), Value());
}

TEST(Types, AWrongDTypeNumberIsRefused) {
  const Registration op = define("t::dtype(Tensor x, ScalarType d) -> ScalarType");
  const Registration kernel =
      implement("t::dtype", K::CPU, Kernel::from([](const Tensor&, DType d) { return d; }));
  Stack stack;
  stack.push(Value(tensor_with({K::CPU})));
  stack.push(Value(99));
  EXPECT_EQ(thrown_by([&] { registry().require("t::dtype").call_boxed(stack); }).kind,
            ErrorKind::BadValue);
  EXPECT_TRUE(stack.empty());
}

TEST(Types, AWrongLayoutOrMemoryFormatIsRefused) {
  EXPECT_EQ(require_layout(1), Layout::Sparse);
  EXPECT_EQ(require_memory_format(2), MemoryFormat::ChannelsLast);
  EXPECT_THROWN(require_layout(2), BadValue, "2 is no layout; the numbers are 0 to 1");
  EXPECT_THROWN(require_memory_format(-1), BadValue,
                "-1 is no memory format; the numbers are 0 to 3");
  const Registration op = define("t::lay(Tensor x, Layout l, MemoryFormat m) -> Tensor");
  const Registration kernel =
      implement("t::lay", K::CPU,
                Kernel::from([](const Tensor& x, Layout, MemoryFormat) -> Tensor { return x; }));
  for (const auto& [layout, format] : {std::pair(0, 0), std::pair(7, 0), std::pair(0, 256)}) {
    Stack stack;
    stack.push(Value(tensor_with({K::CPU})));
    stack.push(Value(layout));
    stack.push(Value(format));
    const auto call = [&] { registry().require("t::lay").call_boxed(stack); };
    if (layout == 0 && format == 0) {
      call();
    } else {
      EXPECT_EQ(thrown_by(call).kind, ErrorKind::BadValue);
    }
  }
}

}  // namespace
}  // namespace opyard::test_types
