// test_typed.cpp: protects calls through typed handles: their cost, and their results.
// Suspect opyard/detail/registry/typed.h.
#include "opyard/detail/registry/typed.h"

#include <gtest/gtest.h>

#include "../counting_new.h"
#include "../registering.h"
#include "../thrown_by.h"

namespace opyard::test_typed {
namespace {

using K = DispatchKey;
using counting::requests_of;

const Tensor& first_of(const Tensor& x, const Tensor&) { return x; }
const Tensor& second_of(const Tensor&, const Tensor& y) { return y; }

TEST(TypedCall, D14_ACallToAnUnboxedKernelAllocatesNothingAndCountsNothing) {
  const Registration op = define("t::by_reference(Tensor x, Tensor y) -> Tensor");
  const Registration kernel = implement("t::by_reference", K::CPU, Kernel::from<&second_of>());
  const auto call =
      registry().require("t::by_reference").typed<const Tensor&(const Tensor&, const Tensor&)>();
  const Tensor x = tensor_with({K::CPU, K::AutogradCPU});
  const Tensor y = tensor_with({K::CPU});
  static_cast<void>(call(x, y));  // the thread is known from here on
  const AllocationCount before = live_allocations();
  EXPECT_EQ(requests_of([&] {
              EXPECT_EQ(&call(x, y), &y) << "the very same handle";
              EXPECT_EQ(&call.redispatch(K::CPU, x, y), &y);
            }),
            0);
  EXPECT_EQ(live_allocations().blocks, before.blocks);
  EXPECT_EQ(y.impl()->owner_count(), 1u);
}

TEST(TypedCall, D14_NoArgumentTypeAllocates) {
  using Signature = Tensor(const Tensor&, std::int64_t, double, bool, std::string_view,
                           const Scalar&, Device, DType, std::optional<std::int64_t>,
                           const std::optional<Tensor>&, IntSpan, const std::vector<Tensor>&);
  const Registration op = define(
      "t::everything(Tensor a, int b, float c, bool d, str e, Scalar f, Device g, ScalarType h, "
      "int? i, Tensor? j, int[] k, Tensor[] l) -> Tensor");
  const Registration kernel =
      implement("t::everything", K::CPU,
                Kernel::from([](DispatchKeySet, const Tensor& a, std::int64_t, double, bool,
                                std::string_view, const Scalar&, Device, DType,
                                std::optional<std::int64_t>, const std::optional<Tensor>&, IntSpan,
                                const std::vector<Tensor>&) -> Tensor { return a; }));
  const Registration partial = implement("t::everything", K::AutogradMeta, boxed_echo(""));
  const auto call = registry().require("t::everything").typed<Signature>();
  const Tensor x = tensor_with({K::CPU});
  const Tensor with_hop = tensor_with({K::CPU, K::AutogradCPU});
  const std::optional<Tensor> maybe = x;
  const std::vector<Tensor> list = {x, with_hop};
  const std::int64_t sizes[] = {1, 2, 3};
  const std::string text = "a text that is too long to be in the string itself";
  const Scalar number = 2.5;
  const auto run = [&](const Tensor& a) {
    call(a, 1, 2., true, text, number, Device{}, DType::Int64, std::nullopt, maybe, sizes, list);
  };
  run(x);
  EXPECT_EQ(requests_of([&] { run(x); }), 0);
  EXPECT_EQ(requests_of([&] { run(with_hop); }), 0) << "past a fallthrough of one backend";
}

TEST(TypedCall, D14_FallbacksBoxOnce) {
  const Registration op = define("t::list(Tensor[] x) -> Tensor[]");
  const Registration kernel =
      implement("t::list", K::CPU, Kernel::from([](const std::vector<Tensor>& x) { return x; }));
  const auto call =
      registry().require("t::list").typed<std::vector<Tensor>(const std::vector<Tensor>&)>();
  const auto pass_on = [](K key) {
    return registry().implement_fallback(
        key,
        Kernel::with_context(
            [](const Record& record, const Operator& op, DispatchKeySet keys, Stack& stack) {
              const auto here = K(reinterpret_cast<std::uintptr_t>(record.context));
              op.redispatch_boxed(keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, here), stack);
            },
            reinterpret_cast<void*>(std::uintptr_t(key)), nullptr),
        "");
  };
  const std::vector<Tensor> list(20, tensor_with({K::CPU, K::Tracer, K::Batched, K::Python}));
  const Registration one = pass_on(K::Tracer);
  const Registration none = registry().implement_fallback(K::Batched, Kernel::fallthrough(), "");
  Registration another = registry().implement_fallback(K::Python, Kernel::fallthrough(), "");
  EXPECT_EQ(call(list).size(), 20u);
  const long by_one = requests_of([&] { call(list); });
  EXPECT_GT(by_one, 0) << "a list must be boxed";
  another = Registration();
  another = pass_on(K::Python);
  EXPECT_EQ(requests_of([&] { call(list); }), by_one) << "two fallbacks cost no second boxing";
}

TEST(TypedCall, D11_TheWaysToCallAgree) {
  const Registration op = define("t::ways(Tensor x, int n) -> (Tensor, int)");
  const Registration kernel =
      implement("t::ways", K::CPU, Kernel::from([](const Tensor& x, std::int64_t n) {
                  return std::tuple<Tensor, std::int64_t>(x, n + 1);
                }));
  const Operator& ways = registry().require("t::ways");
  const auto typed = ways.typed<std::tuple<Tensor, std::int64_t>(const Tensor&, std::int64_t)>();
  const Tensor x = tensor_with({K::CPU});
  EXPECT_EQ(&typed.op(), &ways);
  EXPECT_EQ(std::get<1>(typed.call(x, 1)), 2);
  EXPECT_EQ(std::get<1>(typed(x, 2)), 3);
  EXPECT_EQ(std::get<1>(typed.redispatch(K::CPU, x, 3)), 4);
  for (const bool whole : {true, false}) {
    InlineStack<2> stack;
    stack.push(Value(x));
    stack.push(Value(4));
    whole ? ways.call_boxed(stack) : ways.redispatch_boxed(K::CPU, stack);
    ASSERT_EQ(stack.size(), 2u);
    EXPECT_TRUE(stack[0].to_tensor().same(x));
    EXPECT_EQ(stack[1].to_int(), 5);
  }
}

TEST(TypedCall, D8_AKernelMasksItsSetAndRedispatches) {
  const Registration op = define("t::layers(Tensor x) -> Tensor");
  static std::string trace;
  trace.clear();
  const auto handle = registry().require("t::layers").typed<Tensor(const Tensor&)>();
  const auto layer = [&handle](K key) {
    return Kernel::from([&handle, key](DispatchKeySet keys, const Tensor& x) -> Tensor {
      trace += to_string(key) + " ";
      return handle.redispatch(keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, key), x);
    });
  };
  const Registration tracer = implement("t::layers", K::Tracer, layer(K::Tracer));
  const Registration autograd = implement("t::layers", K::Autograd, layer(K::AutogradCPU));
  const Registration cpu =
      implement("t::layers", K::CPU, Kernel::from([](const Tensor& x) -> Tensor {
                  trace += "CPU";
                  return x;
                }));
  const Tensor x = tensor_with({K::CPU, K::AutogradCPU, K::Tracer});
  EXPECT_TRUE(handle.call(x).same(x));
  EXPECT_EQ(trace, "Tracer AutogradCPU CPU");
}

TEST(TypedCall, AReferenceFromABoxedKernelIsTheArgumentThatItReturned) {
  const Registration op = define("t::refer(Tensor x, Tensor y) -> Tensor");
  const Registration typed = implement("t::refer", K::Meta, Kernel::from(&first_of));
  const auto call =
      registry().require("t::refer").typed<const Tensor&(const Tensor&, const Tensor&)>();
  const Tensor x = tensor_with({K::CPU});
  const Tensor y = tensor_with({K::CPU});
  {
    const Registration second = implement(
        "t::refer", K::CPU, Kernel::boxed([](const Operator&, DispatchKeySet, Stack& stack) {
          Value result = stack.pop();
          stack.drop(1);
          stack.push(std::move(result));
        }));
    EXPECT_EQ(&call(x, y), &y);
  }
  const Registration fresh = implement(
      "t::refer", K::CPU, Kernel::boxed([](const Operator&, DispatchKeySet, Stack& stack) {
        stack.drop(2);
        stack.push(Value(tensor_with({K::CPU})));
      }));
  EXPECT_THROWN(
      static_cast<void>(call(x, y)), BadReturn,
      "t::refer: the kernel returned a tensor that is none of its arguments, but this call "
      "was made with a C++ signature that returns a reference to one.\n"
      "Declaration: t::refer(Tensor x, Tensor y) -> Tensor");
}

TEST(TypedCall, AnExceptionLeavesTheThreadOutsideOfAllCalls) {
  const Registration op = define("t::fails(Tensor x) -> Tensor");
  const Registration kernel =
      implement("t::fails", K::CPU, Kernel::from([](const Tensor&) -> Tensor {
                  EXPECT_EQ(detail::local_block.call_depth, 1u);
                  fail(ErrorKind::BadShape, "no");
                }));
  const auto call = registry().require("t::fails").typed<Tensor(const Tensor&)>();
  const Tensor x = tensor_with({K::CPU});
  EXPECT_THROWN(static_cast<void>(call(x)), BadShape, "no");
  EXPECT_EQ(detail::local_block.call_depth, 0u);
  EXPECT_EQ(thrown_by([&] { static_cast<void>(call(tensor_with({K::XLA}))); }).kind,
            ErrorKind::NoKernel);
  EXPECT_EQ(detail::local_block.call_depth, 0u);
}

TEST(TypedCall, D9_AnArgumentToWriteToThatABoxedKernelReturnedIsTheResult) {
  const Registration op = define("t::write(Tensor(a!) x, Tensor(b!) y) -> Tensor(b!)");
  static std::size_t chosen;
  const Registration kernel = implement(
      "t::write", K::CPU, Kernel::boxed([](const Operator&, DispatchKeySet, Stack& stack) {
        Value result = stack.top(2)[chosen];
        stack.drop(2);
        stack.push(std::move(result));
      }));
  const auto call = registry().require("t::write").typed<Tensor&(Tensor&, Tensor&)>();
  Tensor x = tensor_with({K::CPU});
  Tensor y = tensor_with({K::CPU});
  chosen = 0;
  EXPECT_EQ(&call(x, y), &x);
  chosen = 1;
  EXPECT_EQ(&call(x, y), &y);
}

}  // namespace
}  // namespace opyard::test_typed
