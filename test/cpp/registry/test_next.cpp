// test_next.cpp: protects that a kernel can hand its call on to the one that it covers (X4), whatever
// comes and goes meanwhile. Suspect dispatcher/src/registry/next.cpp.
#include "opyard/inspect/inspect.h"
#include "opyard/registry/next.h"

#include <gtest/gtest.h>

#include "../registering.h"

namespace opyard::test_next {
namespace {

using K = DispatchKey;

std::string ran;  // who ran, in order

// A boxed kernel that notes its letter, and then calls the next one or ends the call.
Kernel noting(char letter, bool goes_on = true) {
  struct Context {
    char letter;
    bool goes_on;
  };
  return Kernel::with_context(
      [](const Record& record, const Operator& op, DispatchKeySet keys, Stack& stack) {
        const auto& context = *static_cast<const Context*>(record.context);
        ran += context.letter;
        if (context.goes_on) call_next(op, place_of(record), keys, stack);
      },
      new Context{letter, goes_on}, [](void* context) { delete static_cast<Context*>(context); });
}

std::string call(DispatchKeySet keys = {K::CPU}) {
  ran.clear();
  InlineStack<4> stack;
  stack.push(Value(tensor_with(keys)));
  registry().require("t::f").call_boxed(stack);
  EXPECT_EQ(stack.size(), 1u);
  return ran;
}

TEST(CallNext, X4_GoesDownTheStackInOrder) {
  const Registration op = define("t::f(Tensor x) -> Tensor");
  const Registration a = implement("t::f", K::CPU, noting('a', false));
  const Registration b = implement("t::f", K::CPU, noting('b'));
  const Registration c = implement("t::f", K::CPU, noting('c'));
  EXPECT_EQ(call(), "cba");
}

TEST(CallNext, X4_KernelsBelowMayComeAndGo) {
  const Registration op = define("t::f(Tensor x) -> Tensor");
  const Registration a = implement("t::f", K::CPU, noting('a', false));
  Registration b = implement("t::f", K::CPU, noting('b'));
  Registration c = implement("t::f", K::CPU, noting('c'));
  const Registration d = implement("t::f", K::CPU, noting('d'));
  EXPECT_EQ(call(), "dcba");
  b.undo();
  EXPECT_EQ(call(), "dca");
  c.undo();
  EXPECT_EQ(call(), "da");
  const Registration e = implement("t::f", K::CPU, noting('e'));
  EXPECT_EQ(call(), "eda");
}

TEST(CallNext, X4_WhatOneLibraryReplacesKeepsItsPlace) {
  const Registration op = define("t::f(Tensor x) -> Tensor");
  const Registration a = implement("t::f", K::CPU, noting('a', false));
  const char owner = 0;
  const Registration b = implement("t::f", K::CPU, noting('b'), "registered at b.cpp:1", &owner);
  const Registration c = implement("t::f", K::CPU, noting('c'));
  const Registration again =
      registry().implement({"t::f", ""}, K::CPU, noting('B'), "registered at b.cpp:2", &owner,
                           false, registry().reload_mark());
  EXPECT_EQ(call(), "cBa");
  inspect::check_invariants();
}

TEST(CallNext, X4_OneKernelGoesOnToAnotherAtEachKey) {
  const Registration op = define("t::f(Tensor x) -> Tensor");
  const Registration below_cpu =
      registry().implement_fallback(K::CPU, noting('x', false), "x.cpp:1");
  const Registration below_cuda =
      registry().implement_fallback(K::CUDA, noting('y', false), "y.cpp:1");
  const Registration b = implement("t::f", K::CompositeExplicitAutograd, noting('b'));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(call({K::CPU}), "bx");
    EXPECT_EQ(call({K::CUDA}), "by");
  }
}

TEST(CallNext, X4_AtTheBottomComesWhatTheKeyFallsBackOn) {
  const Registration op = define("t::f(Tensor x) -> Tensor");
  const Registration composite =
      implement("t::f", K::CompositeExplicitAutograd, noting('a', false));
  const Registration cpu = implement("t::f", K::CPU, noting('b'));
  const Registration layer = implement("t::f", K::Tracer, noting('c'));
  EXPECT_EQ(call(), "ba");
  EXPECT_EQ(call({K::CPU, K::Tracer}), "cba");
}

TEST(CallNext, X4_WithNothingBelowTheCallFails) {
  const Registration op = define("t::f(Tensor x) -> Tensor");
  const Registration cpu = implement("t::f", K::CPU, noting('a'));
  EXPECT_THROW(call(), Error);
}

TEST(CallNext, X4_AfterTheDefinitionIsGoneTheCallFails) {
  Registration op = define("t::f(Tensor x) -> Tensor");
  const Registration below = implement("t::f", K::CPU, noting('a', false));
  const Operator& f = registry().require("t::f");
  const KernelPlace place{K::CPU, registry().reload_mark() + 1};
  InlineStack<4> stack;
  stack.push(Value(tensor_with({K::CPU})));
  ran.clear();
  call_next(f, place, {K::CPU}, stack);
  EXPECT_EQ(ran, "a");
  op.undo();
  EXPECT_THROW(call_next(f, place, {K::CPU}, stack), Error);
}

}  // namespace
}  // namespace opyard::test_next
