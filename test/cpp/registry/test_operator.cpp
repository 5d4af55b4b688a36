// test_operator.cpp: protects boxed calls: checks, the order of the stack, and its state afterwards.
// Suspect dispatcher/src/registry/operator.cpp.
#include "opyard/registry/operator.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "../registering.h"
#include "../thrown_by.h"
#include "opyard/registry/dispatch_log.h"

namespace opyard::test_operator {
namespace {

using K = DispatchKey;

constexpr const char* kAdd = "t::add(Tensor x, int n, *, float alpha=1.0) -> Tensor";

Kernel adding() {
  return Kernel::from([](const Tensor& x, std::int64_t, double) -> Tensor { return x; });
}

TEST(BoxedCall, ResultsReplaceTheArgumentsAndNothingBelowIsTouched) {
  const Registration op = define(kAdd);
  const Registration kernel = implement("t::add", K::CPU, adding());
  const Tensor x = tensor_with({K::CPU});
  Stack stack;
  stack.push("below");
  for (const Value& value : {Value(x), Value(2), Value(0.5)}) stack.push(value);
  registry().require("t::add").call_boxed(stack);
  ASSERT_EQ(stack.size(), 2u);
  EXPECT_EQ(stack[0], Value("below"));
  EXPECT_TRUE(stack[1].to_tensor().same(x));
}

TEST(BoxedCall, D13_AWrongKindNamesOperatorPositionKindAndType) {
  const Registration op = define(kAdd);
  const Registration kernel = implement("t::add", K::CPU, adding());
  const Operator& add = registry().require("t::add");
  const Tensor x = tensor_with({K::CPU});
  const auto call = [&](const Value& first, const Value& second, const Value& third) {
    Stack stack;
    stack.push("below");
    for (const Value& value : {first, second, third}) stack.push(value);
    const Thrown thrown = thrown_by([&] { add.call_boxed(stack); });
    EXPECT_EQ(thrown.kind, ErrorKind::BadArgument);
    EXPECT_EQ(stack.size(), 1u) << "the arguments are consumed";
    EXPECT_EQ(stack[0], Value("below"));
    return thrown.text.substr(0, thrown.text.find("\nDeclaration: t::add("));
  };
  EXPECT_EQ(call(Value(3), Value(1), Value(1.0)),
            "t::add: argument 'x' at position 0 is Int (3), but the schema accepts Tensor.");
  EXPECT_EQ(call(Value(x), Value(1.5), Value(1.0)),
            "t::add: argument 'n' at position 1 is Double (1.5), but the schema accepts int.");
  EXPECT_EQ(call(Value(x), Value(true), Value(1.0)),
            "t::add: argument 'n' at position 1 is Bool (True), but the schema accepts int.");
  EXPECT_EQ(
      call(Value(x), Value(1), Value("two")),
      "t::add: argument 'alpha' at position 2 is String (two), but the schema accepts float.");
}

TEST(BoxedCall, D13_TooFewValuesAreCounted) {
  const Registration op = define(kAdd);
  const Registration kernel = implement("t::add", K::CPU, adding());
  Stack stack;
  EXPECT_THROWN(registry().require("t::add").call_boxed(stack), BadArgument,
                "t::add: the number of values given is 0, but the call takes 3.\n"
                "Declaration: t::add(Tensor x, int n, *, float alpha=1.) -> Tensor");
  stack.push(Value(1));
  stack.push(Value(2));
  EXPECT_THROWN(registry().require("t::add").call_boxed(stack), BadArgument,
                "t::add: the number of values given is 2, but the call takes 3.\n"
                "Declaration: t::add(Tensor x, int n, *, float alpha=1.) -> Tensor");
  EXPECT_TRUE(stack.empty());
}

// A kernel that leaves these values where the arguments were.
Kernel leaving(std::vector<Value> values) {
  return Kernel::with_context(
      [](const Record& record, const Operator& op, DispatchKeySet, Stack& stack) {
        stack.drop(op.schema().arguments.size());
        for (const Value& value : *static_cast<const std::vector<Value>*>(record.context)) {
          stack.push(value);
        }
      },
      new std::vector<Value>(std::move(values)),
      [](void* context) { delete static_cast<std::vector<Value>*>(context); });
}

TEST(BoxedCall, ABoxedKernelMustLeaveTheResultsOfTheSchema) {
  const Registration op = define("t::two(Tensor x) -> (Tensor, int)");
  const Operator& two = registry().require("t::two");
  const Tensor x = tensor_with({K::CPU});
  const auto call = [&](std::vector<Value> left) {
    const Registration kernel = implement("t::two", K::CPU, leaving(std::move(left)), "made here");
    Stack stack;
    stack.push("below");
    stack.push(Value(x));
    const Thrown thrown = thrown_by([&] { two.call_boxed(stack); });
    EXPECT_EQ(thrown.kind, ErrorKind::BadReturn);
    EXPECT_EQ(stack.size(), 1u);
    EXPECT_EQ(stack[0], Value("below"));
    return thrown.text.substr(0, thrown.text.find('\n'));
  };
  EXPECT_EQ(call({}),
            "t::two: the kernel made here left 0 results on the stack, but the schema has 2.");
  EXPECT_EQ(call({Value(x)}),
            "t::two: the kernel made here left 1 results on the stack, but the schema has 2.");
  EXPECT_EQ(call({Value(x), Value(1), Value(2)}),
            "t::two: the kernel made here left 3 results on the stack, but the schema has 2.");
  EXPECT_EQ(call({Value(x), Value(1.5)}),
            "t::two: the kernel made here left Double (1.5) as result 1, but the schema says int.");
  const Registration kernel = implement("t::two", K::CPU, leaving({Value(), Value(7)}));
  Stack stack;
  stack.push(Value(x));
  two.call_boxed(stack);
  EXPECT_EQ(stack.size(), 2u) << "None stands for an undefined tensor";
}

// A thread's first call and every layer that passes a call on come before the kernel, and left
// nothing.
TEST(BoxedCall, TheKernelIsNamedForItsResultsOnAThreadsFirstCallToo) {
  const Registration op = define("t::two(Tensor x) -> (Tensor, int)");
  const Tensor x = tensor_with({K::CPU});
  const Registration kernel = implement("t::two", K::CPU, leaving({Value(x)}), "made here");
  const auto said = [&] {
    Stack stack;
    stack.push(Value(x));
    return thrown_by([&] { registry().require("t::two").call_boxed(stack); }).text;
  };
  const std::string wanted =
      "t::two: the kernel made here left 1 results on the stack, but the schema has 2.\n"
      "Declaration: t::two(Tensor x) -> (Tensor, int)";
  std::string first;
  std::thread([&] { first = said(); }).join();
  EXPECT_EQ(first, wanted);
  EXPECT_EQ(said(), wanted);
  set_dispatch_log(true);
  testing::internal::CaptureStderr();
  const std::string traced = said();
  testing::internal::GetCapturedStderr();
  set_dispatch_log(false);
  EXPECT_EQ(traced, wanted);
}

TEST(BoxedCall, AKernelThatDigsBelowItsArgumentsIsFoundOut) {
  const Registration op = define("t::digs(Tensor x) -> Tensor");
  const Registration kernel =
      implement("t::digs", K::CPU,
                Kernel::boxed([](const Operator&, DispatchKeySet, Stack& stack) { stack.drop(2); }),
                "made here");
  Stack stack;
  stack.push("below");
  stack.push(Value(tensor_with({K::CPU})));
  EXPECT_THROWN(
      registry().require("t::digs").call_boxed(stack), BadReturn,
      "t::digs: the kernel made here left -1 results on the stack, but the schema has 1.\n"
      "Declaration: t::digs(Tensor x) -> Tensor");
}

TEST(BoxedCall, AnExceptionConsumesTheArgumentsAndComesOutAsItself) {
  const Registration op = define("t::throws(Tensor x, int n) -> Tensor");
  const Registration typed =
      implement("t::throws", K::CPU, Kernel::from([](const Tensor&, std::int64_t) -> Tensor {
                  throw std::runtime_error("typed");
                }));
  const Registration boxed = implement(
      "t::throws", K::Meta, Kernel::boxed([](const Operator&, DispatchKeySet, Stack& stack) {
        for (int i = 0; i < 20; ++i) stack.push(Value(i));
        throw std::runtime_error("boxed");
      }));
  const Tensor cpu = tensor_with({K::CPU});
  const Tensor meta = tensor_with({K::Meta});
  Stack stack;
  stack.push("below");
  for (const auto& [tensor, text] : {std::pair(cpu, "typed"), std::pair(meta, "boxed")}) {
    stack.push(Value(tensor));
    stack.push(Value(1));
    try {
      registry().require("t::throws").call_boxed(stack);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), text);
    }
    EXPECT_EQ(stack.size(), 1u);
    EXPECT_EQ(stack[0], Value("below"));
  }
  EXPECT_EQ(cpu.impl()->owner_count(), 1u) << "no call kept one";
  EXPECT_EQ(detail::local_block.call_depth, 0u);
}

TEST(BoxedCall, D12_RedispatchUsesTheGivenSetAndNothingElse) {
  const Registration op = define("t::re(Tensor x) -> Tensor");
  const Registration cpu = implement("t::re", K::CPU, echo("cpu"));
  const Registration tracer = implement("t::re", K::Tracer, echo("tracer"));
  const Operator& re = registry().require("t::re");
  const auto redispatch = [&](DispatchKeySet keys) {
    InlineStack<1> stack;
    stack.push(Value(tensor_with({K::Meta})));
    re.redispatch_boxed(keys, stack);
    return last_ran;
  };
  const IncludeDispatchKeyGuard include(K::Tracer);
  EXPECT_EQ(redispatch({K::CPU}), "cpu") << "neither the argument's Meta nor the thread's Tracer";
  EXPECT_EQ(redispatch({K::CPU, K::Tracer}), "tracer");
  EXPECT_EQ(redispatch({K::CPU, K::ADInplaceOrView}), "cpu") << "past what falls through";
  EXPECT_THROWN(redispatch({K::XLA}), NoKernel,
                "t::re has no kernel at XLA, where this call goes.\n"
                "  -> XLA                    no kernel\nKernels are registered at: Tracer, CPU.");
  EXPECT_THROWN(
      redispatch({}), NoKernel,
      "t::re was called without a tensor that carries dispatch keys, and it has no kernel "
      "for calls without one.\n"
      "  -> Undefined              no kernel\nKernels are registered at: Tracer, CPU.");
}

TEST(BoxedCall, D12_RedispatchOutsideOfACallOnAFreshThread) {
  const Registration op = define("t::fresh(Tensor x) -> Tensor");
  const Registration cpu = implement("t::fresh", K::CPU, echo("cpu"));
  const Operator& fresh = registry().require("t::fresh");
  const Tensor x = tensor_with({K::CPU});
  const auto on_a_thread = [&](auto&& call) {
    std::string ran;
    std::thread([&] {
      call();
      ran = last_ran;
      EXPECT_EQ(detail::local_block.call_depth, 0u);
      EXPECT_EQ(detail::local_block.include & detail::kThreadEntryBit, 0u) << "the thread is known";
    }).join();
    return ran;
  };
  EXPECT_EQ(on_a_thread([&] {
              InlineStack<1> stack;
              stack.push(Value(x));
              fresh.redispatch_boxed(K::CPU, stack);
            }),
            "cpu");
  EXPECT_EQ(on_a_thread([&] { EXPECT_EQ(who_ran(fresh, {K::CPU}), "cpu"); }), "cpu");
  const auto handle = fresh.typed<Tensor(const Tensor&)>();
  EXPECT_EQ(on_a_thread([&] { EXPECT_TRUE(handle.call(x).same(x)); }), "cpu");
  EXPECT_EQ(on_a_thread([&] { EXPECT_TRUE(handle.redispatch(K::CPU, x).same(x)); }), "cpu");
}

TEST(BoxedCall, B34_AHandleOfAGoneDefinitionRaisesAndLivesAgainWithTheSameSchema) {
  const Registration kernel = implement("t::gone", K::CPU, echo("cpu"));
  Registration op = define("t::gone(Tensor x) -> Tensor");
  const Operator& gone = registry().require("t::gone");
  const auto typed = gone.typed<Tensor(const Tensor&)>();
  const Tensor x = tensor_with({K::CPU});
  op.undo();
  const std::string message =
      "t::gone(Tensor x) -> Tensor is gone: the library that defined it has ended. Load the "
      "library again, or look the operator up anew.";
  EXPECT_THROWN(who_ran(gone, {K::CPU}) == "gone" ? static_cast<void>(typed.call(x)) : void(),
                OperatorGone, message);
  EXPECT_THROWN(static_cast<void>(typed.redispatch(K::CPU, x)), OperatorGone, message);
  EXPECT_EQ(dump("t::gone").find("name: t::gone\nschema: (none)\nCPU: registered"), 0u)
      << "kernels are left";
  op = define("t::gone(Tensor x) -> Tensor");
  EXPECT_EQ(&registry().require("t::gone"), &gone) << "the same object";
  EXPECT_TRUE(typed.call(x).same(x));

  op = Registration();
  const Registration other = define("t::gone(Tensor y) -> Tensor");
  EXPECT_NE(&registry().require("t::gone"), &gone) << "another schema is another operator";
  EXPECT_EQ(who_ran("t::gone", {K::CPU}), "cpu");
  EXPECT_EQ(who_ran(gone, {K::CPU}), "gone");
}

TEST(BoxedCall, B34_WhenAllIsGoneTheOperatorDisappears) {
  Registration op = define("t::all_gone(Tensor x) -> Tensor");
  Registration kernel = implement("t::all_gone", K::CPU, echo(""));
  op.undo();
  EXPECT_NE(dump("t::all_gone"), "");
  kernel.undo();
  EXPECT_EQ(dump("t::all_gone"), "");
  EXPECT_EQ(dump_table("t::all_gone"), "");
}

}  // namespace
}  // namespace opyard::test_operator
