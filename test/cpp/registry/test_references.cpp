// test_references.cpp: protects tensors borrowed, written to and returned by reference (D9).
// Suspect opyard/detail/registry/argument.h and result.h.
//
// Nothing may outlive what it refers to: run under the address sanitizer, each of these tests is
// also a test that no freed tensor is touched.
#include <gtest/gtest.h>

#include "../registering.h"
#include "../thrown_by.h"

namespace opyard::test_references {
namespace {

using K = DispatchKey;

Kernel boxed(BoxedKernel function) { return Kernel::boxed(function); }

TEST(References, D9_AnInPlaceSignatureReturnsItsFirstArgument) {
  const Registration op = define("t::fill_(Tensor(a!) self, float value) -> Tensor(a!)");
  const Registration unboxed =
      implement("t::fill_", K::CPU, Kernel::from([](Tensor& self, double value) -> Tensor& {
                  *self.mutable_data<float>() = float(value);
                  return self;
                }));
  const Registration boxes =
      implement("t::fill_", K::Meta, boxed([](const Operator&, DispatchKeySet, Stack& stack) {
                  const double value = stack.pop().to_double();
                  *stack.peek().to_tensor().mutable_data<float>() = float(value);
                }));
  const Operator& fill = registry().require("t::fill_");
  const auto call = fill.typed<Tensor&(Tensor&, double)>();
  Tensor cpu = tensor_with({K::CPU});
  Tensor meta = tensor_with({K::Meta});
  EXPECT_EQ(&call(cpu, 2.), &cpu);
  EXPECT_EQ(*cpu.data<float>(), 2.F);
  EXPECT_EQ(&call(meta, 3.), &meta) << "boxed as well";
  EXPECT_EQ(*meta.data<float>(), 3.F);
  InlineStack<2> stack;
  stack.push(Value(cpu));
  stack.push(Value(4.));
  fill.call_boxed(stack);
  EXPECT_TRUE(stack.peek().to_tensor().same(cpu)) << "the same tensor";
  EXPECT_EQ(*cpu.data<float>(), 4.F);
}

TEST(References, D9_AnOutSignatureReturnsOut) {
  const Registration op = define("t::copy.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)");
  const Registration unboxed =
      implement("t::copy.out", K::CPU, Kernel::from([](const Tensor& x, Tensor& out) -> Tensor& {
                  *out.mutable_data<float>() = *x.data<float>();
                  return out;
                }));
  const Registration boxes =
      implement("t::copy.out", K::Meta, boxed([](const Operator&, DispatchKeySet, Stack& stack) {
                  Value out = stack.pop();
                  stack.drop(1);
                  stack.push(std::move(out));
                }));
  const Operator& copy = registry().require("t::copy.out");
  const auto call = copy.typed<Tensor&(const Tensor&, Tensor&)>();
  const Tensor x = tensor_with({K::CPU});
  *x.mutable_data<float>() = 5;
  Tensor out = tensor_with({K::CPU});
  EXPECT_EQ(&call(x, out), &out);
  EXPECT_EQ(*out.data<float>(), 5.F);
  out = tensor_with({K::Meta});
  EXPECT_EQ(&call(x, out), &out);
  EXPECT_EQ(out.impl()->owner_count(), 1u) << "a borrowed tensor is not kept";
}

TEST(References, D9_SeveralOutsReturnATupleOfReferences) {
  using Outs = std::tuple<Tensor&, Tensor&>;
  const Registration op = define(
      "t::split.out(Tensor x, *, Tensor(a!) low, Tensor(b!) high) -> (Tensor(a!), Tensor(b!))");
  const Registration unboxed = implement(
      "t::split.out", K::CPU,
      Kernel::from([](const Tensor&, Tensor& low, Tensor& high) { return Outs(low, high); }));
  const Registration boxes =
      implement("t::split.out", K::Meta, boxed([](const Operator&, DispatchKeySet, Stack& stack) {
                  const Value high = stack.pop();
                  const Value low = stack.pop();
                  stack.drop(1);
                  stack.push(low);
                  stack.push(high);
                }));
  const Operator& split = registry().require("t::split.out");
  const auto call = split.typed<Outs(const Tensor&, Tensor&, Tensor&)>();
  for (const K key : {K::CPU, K::Meta}) {
    const Tensor x = tensor_with({key});
    Tensor low = tensor_with({key});
    Tensor high = tensor_with({key});
    const Outs outs = call(x, low, high);
    EXPECT_EQ(&std::get<0>(outs), &low);
    EXPECT_EQ(&std::get<1>(outs), &high);
    InlineStack<3> stack;
    for (const Tensor& tensor : {x, low, high}) stack.push(Value(tensor));
    split.call_boxed(stack);
    ASSERT_EQ(stack.size(), 2u);
    EXPECT_TRUE(stack[0].to_tensor().same(low));
    EXPECT_TRUE(stack[1].to_tensor().same(high));
  }
}

// A result is the argument that it is, wherever that is: not the last ones, in order.
TEST(References, EachOfSeveralReferencesIsTheArgumentThatTheKernelReturned) {
  using Outs = std::tuple<Tensor&, Tensor&>;
  const Registration op = define(
      "t::scale(Tensor(a!) low, Tensor(b!) high, Scalar by, Scalar to) -> (Tensor(a!), "
      "Tensor(b!))");
  const auto call =
      registry().require("t::scale").typed<Outs(Tensor&, Tensor&, const Scalar&, const Scalar&)>();
  Tensor low = tensor_with({K::CPU});
  Tensor high = tensor_with({K::CPU});
  for (const bool swapped : {false, true}) {
    const Registration boxes = implement(
        "t::scale", K::CPU,
        swapped ? boxed([](const Operator&, DispatchKeySet, Stack& stack) {
          stack.drop(2);
          const Value second = stack.pop();
          const Value first = stack.pop();
          stack.push(second);
          stack.push(first);
        })
                : boxed([](const Operator&, DispatchKeySet, Stack& stack) { stack.drop(2); }));
    const Outs outs = call(low, high, Scalar(2), Scalar(3));
    EXPECT_EQ(&std::get<0>(outs), swapped ? &high : &low);
    EXPECT_EQ(&std::get<1>(outs), swapped ? &low : &high);
  }
  const Registration fresh =
      implement("t::scale", K::CPU, boxed([](const Operator&, DispatchKeySet, Stack& stack) {
                  stack.drop(3);
                  stack.push(Value(tensor_with({})));
                }));
  const Thrown thrown = thrown_by([&] { call(low, high, Scalar(2), Scalar(3)); });
  EXPECT_EQ(thrown.kind, ErrorKind::BadReturn);
  EXPECT_NE(thrown.text.find("none of its arguments"), std::string::npos) << thrown.text;
}

TEST(References, ATupleMayHoldArgumentsBesideOtherResults) {
  using Results = std::tuple<std::int64_t, Tensor&>;
  const Registration op = define("t::count(Tensor x, Tensor(a!) out) -> (int, Tensor(a!))");
  const Registration unboxed = implement(
      "t::count", K::CPU, Kernel::from([](const Tensor&, Tensor& out) { return Results(7, out); }));
  const Registration boxes =
      implement("t::count", K::Meta, boxed([](const Operator&, DispatchKeySet, Stack& stack) {
                  const Value out = stack.pop();
                  stack.drop(1);
                  stack.push(Value(7));
                  stack.push(out);
                }));
  const auto call = registry().require("t::count").typed<Results(const Tensor&, Tensor&)>();
  for (const K key : {K::CPU, K::Meta}) {
    Tensor out = tensor_with({key});
    const Results results = call(tensor_with({key}), out);
    EXPECT_EQ(std::get<0>(results), 7);
    EXPECT_EQ(&std::get<1>(results), &out);
  }
}

TEST(References, AReturnedArgumentOutlivesTheStackItCameFrom) {
  const Registration op = define("t::pass(Tensor x) -> Tensor");
  const Registration kernel = implement(
      "t::pass", K::CPU, Kernel::from([](const Tensor& x) -> const Tensor& { return x; }));
  InlineStack<1> stack;
  stack.push(Value(tensor_with({K::CPU})));  // the stack owns it alone
  registry().require("t::pass").call_boxed(stack);
  EXPECT_EQ(stack.peek().to_tensor().impl()->owner_count(), 1u);
  EXPECT_EQ(stack.peek().to_tensor().numel(), 1);
}

TEST(References, AFreshTensorInAnOptionalOrAListOutlivesItsKernel) {
  const Registration op = define("t::maybe(Tensor x) -> (Tensor?, Tensor[], Tensor?[])");
  const Registration kernel =
      implement("t::maybe", K::CPU, Kernel::from([](const Tensor&) {
                  return std::tuple<std::optional<Tensor>, std::vector<Tensor>,
                                    std::vector<std::optional<Tensor>>>(
                      tensor_with({}), {tensor_with({})}, {tensor_with({})});
                }));
  InlineStack<3> stack;
  stack.push(Value(tensor_with({K::CPU})));
  registry().require("t::maybe").call_boxed(stack);
  ASSERT_EQ(stack.size(), 3u);
  EXPECT_EQ(stack[0].to_tensor().impl()->owner_count(), 1u);
  EXPECT_EQ(stack[1].to_list()[0].to_tensor().impl()->owner_count(), 1u);
  EXPECT_EQ(stack[2].to_list()[0].to_tensor().impl()->owner_count(), 1u);
}

TEST(References, ABoxedKernelThatKeepsALentTensorOwnsIt) {
  static Value kept;
  const Registration op = define("t::keep(Tensor x) -> Tensor");
  const Registration kernel =
      implement("t::keep", K::CPU,
                boxed([](const Operator&, DispatchKeySet, Stack& stack) { kept = stack.peek(); }));
  const auto call = registry().require("t::keep").typed<Tensor(const Tensor&)>();
  static_cast<void>(call(tensor_with({K::CPU})));
  EXPECT_EQ(kept.to_tensor().impl()->owner_count(), 1u);
  EXPECT_EQ(kept.to_tensor().numel(), 1);
  kept = Value();
}

TEST(References, UndefinedTensorsPassInBothDirections) {
  const Registration op = define("t::undefined(Tensor x, Tensor? y) -> Tensor");
  const Registration kernel =
      implement("t::undefined", std::nullopt,
                Kernel::from([](const Tensor& x, const std::optional<Tensor>& y) -> Tensor {
                  EXPECT_FALSE(x.defined());
                  EXPECT_FALSE(y.has_value());
                  return {};
                }));
  const Operator& undefined = registry().require("t::undefined");
  const auto call = undefined.typed<Tensor(const Tensor&, const std::optional<Tensor>&)>();
  EXPECT_FALSE(call(Tensor(), std::nullopt).defined());
  for (const Value& none : {Value(), Value(Tensor())}) {
    InlineStack<2> stack;
    stack.push(none);
    stack.push(Value());
    undefined.call_boxed(stack);
    EXPECT_FALSE(stack.peek().to_tensor().defined());
  }
}

}  // namespace
}  // namespace opyard::test_references
